"""Python side effects, transitively: what a call changes that existed before it.

A write counts when its object was not made during the call: objects know the node that allocated them, so a write in a
callee to a list that the caller made is an effect of the callee and none of the caller. Printing, input and output, and
writes to globals always count; what Keras' `build` does never does.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strop.source.facts import Place
from strop.source.interpret.callgraph import CallGraph
from strop.source.interpret.heap import Frame, FunctionContext, Object
from strop.source.interpret.values import (
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    LibraryValue,
    Partial,
    Primitive,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from strop.source.project.declarations import Code

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program

MAX_EFFECTS = 40  #: kept per node; enough to explain, and it bounds the work
_WORDS = {
    "print": "prints through `{}`",
    "io": "does input or output through `{}`",
    "global": "writes `{}`, which outlives the call",
    "unknown": "calls something unknown: `{}`",
}


@dataclass(frozen=True)
class Effect:
    """One side effect; `certain` is False when it cannot be determined whether it is one."""

    message: str
    place: Place
    chain: tuple[Place, ...]
    certain: bool


@dataclass(frozen=True)
class _Record:
    message: str
    place: Place
    owner: FunctionContext | str  #: the node that made the object, or `always`, `before`, `unknown`


class Effects:
    """The side effects of every function; computed bottom-up over the call graph when first asked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = program.graph_of_calls()
        self._own: dict[FunctionContext, list[_Record]] = {}
        self._all: dict[int, dict[_Record, tuple[Place, ...]]] = {}
        self._propagate()

    def of(self, id: str) -> list[Effect]:
        """Effects in the order of certainty and length of chain."""
        found: dict[tuple[str, Place], Effect] = {}
        for node in self.program.code(id).nodes.values():
            for record, chain in self._all.get(self.graph.index[node], {}).items():
                certain = record.owner != "unknown"
                effect = Effect(record.message, record.place, chain, certain)
                known = found.get((record.message, record.place))
                if known is None or len(chain) < len(known.chain):
                    found[record.message, record.place] = effect
        return sorted(found.values(), key=lambda e: (not e.certain, len(e.chain), e.place))

    def has(self, id: str) -> bool | None:
        """Whether a function has side effects; None when that cannot be determined."""
        effects = self.of(id)
        if any(effect.certain for effect in effects):
            return True
        return None if effects or self.program.gave_up(id) or not self.program.code(id).nodes else False

    def _propagate(self) -> None:
        for members in self.graph.order:
            for _ in range(2 if len(members) > 1 else 1):
                for i in members:
                    self._collect(i)

    def _collect(self, i: int) -> None:
        node = self.graph.nodes[i]
        if is_build(self.program, node.code):
            self._all[i] = {}
            return
        found: dict[_Record, tuple[Place, ...]] = dict.fromkeys(self._direct(node), ())
        for (at, callee), exempt in node.callees.items():
            if exempt:
                continue
            place = node.code.place(at)
            for record, chain in self._all.get(self.graph.index[callee], {}).items():
                if record not in found and len(found) < MAX_EFFECTS and self._escapes(node, record):
                    found[record] = (place, *chain)
        self._all[i] = found

    def _escapes(self, node: FunctionContext, record: _Record) -> bool:
        return isinstance(record.owner, str) or not self.graph.inside(node, record.owner)

    def _direct(self, node: FunctionContext) -> list[_Record]:
        if node in self._own:
            return self._own[node]
        found: dict[_Record, None] = {}
        for at, kind, payload in node.events.values():
            if kind == "write":
                for record in _records(self.graph, node, at, payload):
                    found[record] = None
        self._own[node] = list(found)[:MAX_EFFECTS]
        return self._own[node]


def is_build(program: Program, code: Code) -> bool:
    """`build` of a Keras layer or model."""
    if code.cls is None or code.short != "build":
        return False
    from strop.source.interpret.entries import ancestor_names

    return any(
        name.startswith("tensorflow.keras.") or name.endswith(("Layer", "Model"))
        for name in ancestor_names(program, code.cls)
    )


def _records(
    graph: CallGraph, node: FunctionContext, at: ast.AST, payload: tuple[str, str, Value | Frame | str, Value]
) -> list[_Record]:
    _, text, to, _ = payload
    place = node.code.place(at)
    if isinstance(to, str):
        owner = "unknown" if to == "unknown" else "always"
        return [_Record(_WORDS[to].format(text), place, owner)]
    if isinstance(to, Frame):
        owner_node = to.owner
        made_inside = owner_node is not None and graph.inside(node, owner_node)
        return (
            []
            if made_inside or owner_node is None
            else [_Record(f"writes the captured variable `{text}`", place, owner_node)]
        )
    found = []
    message = f"changes `{text}`, which existed before the call"
    for atom in to.atoms:
        home = owner_of(atom)
        if home is None:
            continue
        if isinstance(home, FunctionContext):
            if not graph.inside(node, home):
                found.append(_Record(message, place, home))
        elif home == "unknown":
            found.append(_Record(f"changes `{text}`, of which nobody knows where it was made", place, "unknown"))
        else:
            found.append(_Record(message, place, "always"))
    return found


def owner_of(atom: object) -> FunctionContext | str | None:
    """The node that made an object, `before` or `unknown`; None for things that cannot be written to."""
    if isinstance(atom, Object):
        return atom.owner if atom.owner is not None else "before"
    if isinstance(atom, Unknown):
        return "before" if atom.before else "unknown"
    if isinstance(atom, (ClassAtom, LibraryValue, FunctionValue)):
        return "before"
    if isinstance(atom, Bound):
        return owner_of(atom.receiver)
    if isinstance(atom, Tensor):
        return None
    if isinstance(atom, (Const, Primitive, Tuple, Partial)):
        return None
    return "unknown"


def outside(graph: CallGraph, node: FunctionContext, to: Value | Frame | str) -> bool | None:
    """Whether a write in a node goes to something that existed before the call of that node."""
    if isinstance(to, str):
        return None if to == "unknown" else True
    if isinstance(to, Frame):
        return to.owner is None or not graph.inside(node, to.owner)
    answer: bool | None = False
    for atom in to.atoms:
        home = owner_of(atom)
        if home == "unknown":
            answer = None if answer is False else answer
        elif home == "before" or (isinstance(home, FunctionContext) and not graph.inside(node, home)):
            return True
    return answer
