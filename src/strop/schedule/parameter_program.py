"""The parameter program in parts that are independent of one another.

A packing is a set of calls that work on the same tensors: the folding of a weight and its copy in the order in which a
nest reads it, say. Its key tells what it computes, so that programs of one module that want the same of the same
parameters can share the result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from strop.loops.calls import Call, canonicalise
from strop.loops.ir import Buffer, Nest
from strop.schedule.memory import Arena, arena_of, room

Constants = Mapping[Buffer, tuple[object, ...]]


@dataclass(frozen=True)
class Packing:
    """Calls that make what steps read (`kept`) from `params`, through what only they read (`temporary`)."""

    calls: tuple[Call, ...]
    kept: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    temporary: Arena
    key: str

    @property
    def bytes(self) -> int:
        return sum(map(room, self.kept))


def divide(prepare: Sequence[Call], used: Sequence[Buffer], constants: Constants) -> tuple[Packing, ...]:
    """The packings of a parameter program whose steps read `used`; calls that nothing comes of are left out."""
    texts: dict[Nest, str] = {}
    found = (_packing(calls, used, constants, texts) for calls in _connected(prepare))
    return tuple(packing for packing in found if packing.kept)


def _connected(prepare: Sequence[Call]) -> list[list[Call]]:
    """Calls in their order, those together that touch a tensor of the parameter program in common."""
    group_of: dict[Buffer, int] = {}
    groups: dict[int, list[int]] = {}
    for position, call in enumerate(prepare):
        touched = [b for b in call.touched if b.space == "packed"]
        members = [position]
        for old in sorted({group_of[b] for b in touched if b in group_of}):
            members += groups.pop(old)
        groups[position] = sorted(members)
        group_of.update((b, position) for m in members for b in prepare[m].touched if b.space == "packed")
    return [[prepare[i] for i in members] for members in sorted(groups.values())]


def _packing(calls: Sequence[Call], used: Sequence[Buffer], constants: Constants, texts: dict[Nest, str]) -> Packing:
    touched = dict.fromkeys(b for call in calls for b in call.touched)
    kept = tuple(b for b in used if b in touched)
    temporary = arena_of([[b for b in call.touched if b not in kept] for call in calls], "packed")
    params: dict[Buffer, int] = {}
    made: dict[Buffer, int] = {}

    def named(buffer: Buffer) -> tuple[object, ...]:
        if buffer in constants:
            return ("constant", buffer.dtype, buffer.shape, constants[buffer])
        numbers = made if buffer.space == "packed" else params
        return buffer.space, numbers.setdefault(buffer, len(numbers))

    digest = hashlib.sha256()
    for call in calls:
        nest, actual = _computed(call)
        if nest not in texts:
            texts[nest] = repr(nest)
        digest.update(repr((texts[nest], [named(actual[b]) for b in (*nest.reads, *nest.writes)])).encode())
    digest.update(repr([made[b] for b in kept]).encode())
    assert all(b.space == "param" for b in params)
    return Packing(tuple(calls), kept, tuple(params), temporary, digest.hexdigest())


def _computed(call: Call) -> tuple[Nest, Mapping[Buffer, Buffer]]:
    """What decides the result of a call. Sums depend on the order of their terms, hence on the schedule; which thread
    computes what decides nothing, so that programs for several thread counts share."""
    if any(store.reduce for store in call.source.stores):
        return _without_threads(call.nest), call.actual
    return canonicalise(call.source)


def _without_threads(nest: Nest) -> Nest:
    loops = tuple(replace(loop, mode="serial") if loop.mode == "threads" else loop for loop in nest.loops)
    body = tuple(_without_threads(item) if isinstance(item, Nest) else item for item in nest.body)
    return replace(nest, loops=loops, body=body)
