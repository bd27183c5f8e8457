"""Graph breaks, predicted: where Dynamo will end a graph in a function or in what it calls, under PyTorch's own names.

What a single construct means is in `break_rules.py` and, for calls, in `torch_breaks.toml`; here is what a function
reaches. A break
that stands under a condition which depends on Python values is kept with that condition (`unless`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.break_rules import Break, as_callee, as_entry, of_event, of_syntax
from strop.source.hybridize.syntax import guards_of, owner_of, reach_of, reaching
from strop.source.hybridize.torch_worth import Region
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code

_ENOUGH = 50  #: breaks of one function, certain or conditional, beyond which more of them say nothing new
_found: WeakKeyDictionary[Program, dict[str, tuple[Break, ...]]] = WeakKeyDictionary()


def breaks(program: Program, id: str) -> list[tuple[Break, tuple[Place, ...]]]:
    """The breaks of a function and of everything that it may call, with the calls that lead there."""
    found: list[tuple[Break, tuple[Place, ...]]] = [(b, ()) for b in as_entry(program, program.code(id))]
    found += [(b, ()) for b in own_breaks(program, id)]
    if not program.reaches(
        id, "torch breaks", lambda code: bool(own_breaks(program, code.id)) or bool(as_callee(program, code))
    ):
        return found
    kept = {True: 0, False: 0}
    for other, chain in reaching(program, id):
        if other == id or not chain:
            continue
        if min(kept.values()) > _ENOUGH:
            break
        code = program.code(other)
        inner = [*as_callee(program, code), *own_breaks(program, other)]
        if not inner:
            continue
        reached, condition = along(program, chain)
        if reached == "never":
            continue
        own = code.place()
        for b in inner:
            place = chain[0] if b.place == own else b.place
            unless = b.unless or condition
            counted = kept[bool(unless)] = kept[bool(unless)] + 1
            if counted > _ENOUGH:
                continue
            changed = place is not b.place or unless != b.unless
            found.append((replace(b, place=place, unless=unless) if changed else b, chain))
    return found


def along(program: Program, chain: tuple[Place, ...]) -> tuple[str, str]:
    """Whether a chain of calls is reached, and the first condition that it depends on."""
    condition = ""
    for place in chain:
        truth, text = reach_of(program, place)
        if truth == "never":
            return "never", ""
        condition = condition or text
    return "maybe" if condition else "always", condition


def excluded(program: Program, b: Break, chain: tuple[Place, ...]) -> Region | None:
    """What does not run where the condition of a break is assumed not to hold; None for conditions without lines."""
    for place in (b.place, *chain):
        owner = owner_of(program, place)
        guard = guards_of(program, owner).reached(place)[1] if owner is not None else None
        if guard is not None and guard.text() == b.unless:
            return place.file, guard.span
    return None


def own_breaks(program: Program, id: str) -> tuple[Break, ...]:
    """The breaks that stand in a function's own code and are reached."""
    cache = _found.setdefault(program, {})
    if id not in cache:
        cache[id] = ()  # against circles
        cache[id] = tuple(_own(program, program.code(id)))
    return cache[id]


def _own(program: Program, code: Code) -> Iterator[Break]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return
    found: dict[tuple[str, Place], Break] = {}
    for event in program.events(code.id):
        for b in of_event(program, code, event):
            found.setdefault((b.rule, b.place), b)
    for b in of_syntax(program, code):
        found.setdefault((b.rule, b.place), b)
    if not found:
        return
    guards = guards_of(program, code)
    for b in found.values():
        if guards.is_raising(b.place):
            continue
        truth, guard = guards.reached(b.place)
        if truth == "never":
            continue
        unless = b.unless or (guard.text() if guard is not None else "")
        yield replace(b, unless=unless)
