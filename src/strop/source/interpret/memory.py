"""What a function's statements did in its last run, so that the next one repeats only what would go otherwise.

A function is run again whenever something that it read has grown, and most of its statements never looked at that. A
statement gives the same as before when the variables that it mentions are the same, and so are the cells, contents of
objects and results of calls that it read. What it did to the heap need not be done again: the heap only grows.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strop.source.interpret.joins import join
from strop.source.interpret.values import NOTHING, Value

if TYPE_CHECKING:
    from strop.source.interpret.activation import Activation
    from strop.source.interpret.heap import Cell, FunctionContext, Object

Events = dict[tuple[int, str], Any]


class Reads:
    """What one statement has read, as it was then."""

    __slots__ = ("cells", "objects", "results", "sizes")

    def __init__(self) -> None:
        self.cells: list[tuple[Cell, Value]] = []
        self.objects: list[tuple[Object, int]] = []
        self.results: list[tuple[FunctionContext, Value]] = []
        self.sizes: list[tuple[dict[str, Cell], int]] = []

    def hold(self) -> bool:
        """Whether everything still is as it was read."""
        for cell, value in self.cells:
            if cell.value is not value:
                return False
        for context, result in self.results:
            if context.result is not result:
                return False
        for obj, version in self.objects:
            if obj.version != version:
                return False
        return all(len(attributes) == size for attributes, size in self.sizes)


@dataclass(slots=True)
class Memory:
    """One statement in its last run: what it began with, and what it left."""

    value: Value | None  #: of the head of a compound statement
    before: list[Value | None]  #: the variables that it mentions
    reads: Reads
    definitions: int  #: of the program, when it ran
    after: list[tuple[str, Value | None]]  #: variables that it changed
    ends: bool  #: what comes after it is not reached
    result: Value
    yields: Value
    events: Events
    steps: int


def mentioned(statement: ast.AST, receiver: str | None) -> tuple[str, ...]:
    """The variables that a statement may look at or change; `super()` looks at the receiver."""
    names = {node.id: None for node in ast.walk(statement) if isinstance(node, ast.Name)}
    if receiver is not None and "super" in names:
        names[receiver] = None
    return tuple(names)


def repeat(run: Activation, known: Memory) -> None:
    """Leave what the statement left."""
    env = run.env
    assert env is not None
    for name, value in known.after:
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    if known.ends:
        run.env = None
    run.result = join(run.result, known.result)
    run.yields = join(run.yields, known.yields)
    run.steps += known.steps
    add_events(run.node.events, known.events)


def add_events(events: Events, more: Events) -> None:
    """Events of a statement behind those of others; writes of several rounds of a loop are joined."""
    for key, event in more.items():
        known = events.get(key)
        if known is not None and event[1] == "write" and isinstance(event[2][2], Value):
            kind, text, to, value = event[2]
            event = event[0], event[1], (kind, text, join(known[2][2], to), join(known[2][3], value))
        events[key] = event


def fresh(run: Activation) -> tuple[Events, Value, Value]:
    """Put aside what a run has gathered so far, so that a statement's own part can be told."""
    held = run.node.events, run.result, run.yields
    run.node.events, run.result, run.yields = {}, NOTHING, NOTHING
    run.reads = Reads()
    return held


def gathered(run: Activation, held: tuple[Events, Value, Value]) -> tuple[Events, Value, Value]:
    """Put a statement's part behind what was put aside; returns the part."""
    part = run.node.events, run.result, run.yields
    run.node.events, result, yields = held
    run.result, run.yields = join(result, part[1]), join(yields, part[2])
    add_events(run.node.events, part[0])
    return part
