"""Where the bytes come from that a step reads: registers, a cache, or memory.

Within a step, footprints of its loops tell (`cost/footprint.py`). Between steps, what was touched since a tensor was
written tells which caches may still hold it; steps that take turns touch a few rows of it at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strop.codegen.registers import register_scratch
from strop.cost.footprint import MemoryLevel, Traffic, tree
from strop.cost.model import memory_levels
from strop.loops.calls import Call, PlannedStep
from strop.loops.ir import CONSTANT, Buffer, Nest
from strop.loops.lowered import LibraryCall, reads, writes
from strop.loops.volume import footprint
from strop.schedule.program import Plan
from strop.schedule.window_chain import InterleavedCalls
from strop.session.views import MEMORY
from strop.target.description import Target

_STAYS = 0.9  # the share of a cache up to which everything is taken to stay


@dataclass(frozen=True)
class Transfer:
    """A tensor that a step reads: who wrote it last (empty where the caller did), and bytes by where they come from."""

    producer: str
    consumer: str
    buffer: Buffer
    bytes: int
    traffic: Mapping[str, int]


class Transfers:
    """The tensors that go from step to step of a plan, in its order."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._misses: dict[Nest, Mapping[Buffer, tuple[float, ...]]] = {}

    def of(self, plan: Plan) -> list[Transfer]:
        """Every tensor that every step reads."""
        steps = [*plan.prepare, *plan.steps]
        turns = _turns(plan)
        whole = sum(b.bytes for b in {b for step in plan.steps for b in (*_reads(step), *_writes(step))})
        written: dict[Buffer, int] = {}
        found = []
        for place, step in enumerate(steps):
            for buffer in dict.fromkeys(_reads(step)):
                since = written.get(buffer)
                if since == place:
                    continue
                if buffer.space in CONSTANT:  # last read in the call before
                    far = whole
                else:
                    far = _distance(steps, since, place, turns) if since is not None else buffer.bytes
                found.append(self._transfer(steps[since].name if since is not None else "", step, buffer, far))
            written.update(dict.fromkeys(_writes(step), place))
        return found

    def _transfer(self, producer: str, step: PlannedStep, buffer: Buffer, far: int) -> Transfer:
        """`far`: bytes that were touched since it was written."""
        target = self.target
        if isinstance(step, LibraryCall):
            moved, fetched = buffer.bytes, [float(buffer.bytes), 0.0, 0.0, 0.0]
        else:
            own = {real: b for b, real in step.actual.items()}[buffer]
            moved = footprint(step.nest, own)
            fetched = list(self.misses(step.nest).get(own, (float(moved), 0.0, 0.0, 0.0)))
        for at, size in enumerate((target.l1, target.l2, target.l3_ours), 1):
            if far > _STAYS * size:
                fetched[at] = max(fetched[at], float(moved))
        for at in (2, 1, 0):  # what comes from farther away comes through what is nearer
            fetched[at] = max(fetched[at], fetched[at + 1])
        bytes_from = [0, *(round(a - b) for a, b in zip(fetched, (*fetched[1:], 0.0)))]
        return Transfer(producer, step.name, buffer, moved, dict(zip(MEMORY, bytes_from)))

    def misses(self, nest: Nest) -> Mapping[Buffer, tuple[float, ...]]:
        """Bytes of each buffer that a nest loads into registers, into L1, into L2 and into L3, if it found everything
        in the caches where its last execution has left it."""
        if nest not in self._misses:
            root = tree(nest, {}, register_scratch(nest))
            vector = self.target.vector_bytes
            levels = [MemoryLevel("registers", 1, vector, tight=1e-9, full=2e-9), *memory_levels(self.target)[:3]]
            found: dict[Buffer, list[float]] = {}
            for at, level in enumerate(levels):
                for key, lines in Traffic(root, level).lines().items():
                    if not key.writes:
                        found.setdefault(key.buffer, [0.0] * len(levels))[at] += lines * level.line
            self._misses[nest] = {buffer: tuple(sizes) for buffer, sizes in found.items()}
        return self._misses[nest]


def _turns(plan: Plan) -> dict[int, InterleavedCalls]:
    """The group that a step takes turns in, by its place among all steps."""
    before = len(plan.prepare)
    return {before + at + i: group for at, group in plan.strips.items() for i in range(len(group.calls))}


def _distance(steps: Sequence[PlannedStep], first: int, last: int, turns: Mapping[int, InterleavedCalls]) -> int:
    """Bytes that are touched from when a tensor is written to when it is read."""
    group = turns.get(first)
    if group is not None and turns.get(last) is group:
        turns_each = max(len(part) for part in group.parts) // len(group.calls) or 1
        return sum(b.bytes for b in group.touched) // turns_each
    ends = {b for place in (first, last) for b in (*_reads(steps[place]), *_writes(steps[place]))}
    between = {b for step in steps[first + 1 : last] for b in (*_reads(step), *_writes(step))}
    # an element is written and read halfway through either step, on average
    return sum(b.bytes for b in between) + sum(b.bytes for b in ends - between) // 2


def _reads(step: PlannedStep) -> tuple[Buffer, ...]:
    return tuple(step.actual[b] for b in step.nest.reads) if isinstance(step, Call) else reads(step)


def _writes(step: PlannedStep) -> tuple[Buffer, ...]:
    return step.written if isinstance(step, Call) else writes(step)
