"""The verifier of nests: what is read was written before, indices stay inside, loops bind what is used.

verify(steps, step="fuse")    raises STR303 at the first nest that the step broke
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strop.core.extents import Symbol, UnknownExtent, ambiguity
from strop.core.passes import VERIFIERS
from strop.core.problem import Problem
from strop.loops.index import Index, Indirect, Var
from strop.loops.ir import Buffer, Guard, Load, Nest, Store, loads
from strop.loops.lowered import LibraryCall, Step

#: memory that only the caller writes
GIVEN = ("input", "param", "const")


def verify(steps: Iterable[Step], step: str = "", written: Iterable[Buffer] = ()) -> None:
    """Raise a Problem that names the nest and the step; `written` are buffers that others have filled before."""
    known = set(written)
    named: dict[str, Symbol] = {}
    for one in steps:
        if fault := ambiguity(one.symbols, named):
            raise _problem(one, fault, step)
        reads, writes = (one.inputs, one.outputs) if isinstance(one, LibraryCall) else (one.reads, one.writes)
        for buffer in reads:
            if buffer.space not in GIVEN and buffer not in known and buffer.size != 0 and buffer not in writes:
                raise _problem(one, f"reads {buffer.name}, which nobody has written", step)
        for buffer in writes:
            if buffer.space in GIVEN:
                raise _problem(one, f"writes {buffer.name}, which belongs to the caller ({buffer.space})", step)
        known.update(writes)
        if isinstance(one, Nest):
            for fault in _faults(one, frozenset(), frozenset()):
                raise _problem(one, fault, step)


def _faults(nest: Nest, bound: frozenset[Var], scratch: frozenset[Buffer]) -> Iterator[str]:
    names = [loop.name for loop in nest.loops]
    if len(set(names)) != len(names) or any(var.name in names for var in bound):
        yield f"two loops around one statement share a name: {', '.join(names)}"
    if nest.iterations == 0:
        return
    bound |= frozenset(nest.vars)
    scratch |= frozenset(nest.scratch)
    for item in nest.body:
        if isinstance(item, Nest):
            yield from _faults(item, bound, scratch)
        else:
            yield from _statement_faults(item, bound, scratch)


def _statement_faults(store: Store, bound: frozenset[Var], scratch: frozenset[Buffer]) -> Iterator[str]:
    if store.value.dtype != store.target.dtype:
        yield f"`{store}` stores {store.value.dtype} into {store.target}"
    yield from _access_faults(store.target, store.index, store.guards, bound, scratch)
    for load in loads(store):
        yield from _access_faults(load.buffer, load.index, load.guards, bound, scratch)


def _access_faults(
    buffer: Buffer,
    index: tuple[Index, ...],
    guards: tuple[Guard, ...],
    bound: frozenset[Var],
    scratch: frozenset[Buffer],
) -> Iterator[str]:
    access = Load(buffer, index)
    if len(index) != len(buffer.shape):
        yield f"`{access}` has {len(index)} indices, {buffer} has {len(buffer.shape)}"
        return
    if buffer.space == "scratch" and buffer not in scratch:
        yield f"`{access}`: the scratch is not declared around it"
    free = sorted(var.name for part in (*index, *(g.index for g in guards)) for var in part.vars if var not in bound)
    if free:
        yield f"`{access}`: no loop binds {', '.join(dict.fromkeys(free))}"
    if guards:
        return
    for part, extent in zip(index, buffer.shape):
        low, high = part.bounds
        if extent == 0 and any(isinstance(atom, Indirect) for atom, _ in part.terms):
            continue  # found out of range when it runs
        try:
            outside = low < 0 or high >= extent
        except UnknownExtent:
            outside = True
        if outside:
            yield f"`{access}`: {part} runs from {low} to {high}, the dimension has {extent!r}"


def _problem(where: Step, fault: str, step: str) -> Problem:
    after = f" after `{step}`" if step else ""
    origin = where.origin if isinstance(where, Nest) else where.node.origin
    return Problem(
        "STR303", f"{where.name}{after}: {fault}", where=origin, help="this is a bug in Strop; please report it"
    )


def verify_nest(nest: Nest, step: str) -> None:
    """One nest for itself: what it reads, others have written."""
    verify((nest,), step, nest.reads)


VERIFIERS[Nest] = verify_nest
