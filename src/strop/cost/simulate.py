"""How long a core takes for instructions that repeat: each of them is followed from entering to leaving.

An instruction enters in order, when there is room for it; begins when its operands are there and one of its ports is
free, the oldest first; and leaves in order. That is all: caches are counted elsewhere (`strop.cost.footprint`), every
branch is predicted, every load hits L1. Two clocks run side by side: one with ports and a reorder window, one with
dependences only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from strop.cost.instructions import Operation
from strop.target.ports import Ports

_ROUNDS = 2  # iterations at least; the second half of them counts
_WINDOWS = 3  # as many instructions at least as this many windows hold
_QUEUE = 64  # instructions that were found and wait to enter
_BY_ELEMENT = ("gather", "masked store")
_NOT_VECTOR = ("int", "branch", "multiply", "divide", "call", "mask", "transfer")


@dataclass(frozen=True)
class Pace:
    """Cycles per iteration: of the core, and by chains of dependent results alone."""

    cycles: float
    chain: float


def passes(operation: Operation, ports: Ports) -> Iterator[tuple[str, str, float]]:
    """(class, ports, cycles) of everything that an instruction does."""
    kind = _class(operation, ports)
    if kind:
        use = ports.use(kind, operation.bits)
        wide = operation.bits / ports.pipe_bits if kind not in _NOT_VECTOR else 1.0
        yield kind, use.ports, use.cycles * (wide if kind in _BY_ELEMENT else max(1.0, wide))
    if operation.load and operation.kind != "gather":
        use = ports.uses["load"]
        yield "load", use.ports, use.cycles * max(1.0, operation.load / ports.load_bits)
    if operation.store:
        use = ports.uses["store" if operation.bits > 64 or operation.bits == 32 else "int store"]
        yield "store", use.ports, use.cycles * max(1.0, operation.store / ports.store_bits)


def _class(operation: Operation, ports: Ports) -> str:
    """The class of an instruction; copies between vector registers are logic where they are not done by renaming."""
    moves = not (operation.kind or operation.load or operation.store) and any(one[0] == "v" for one in operation.writes)
    return "logic" if moves and not ports.free_moves else operation.kind


def slots(operation: Operation, ports: Ports) -> float:
    """Places that an instruction takes in the front end."""
    if not operation.kind:
        return 1.0
    if operation.kind == "branch":
        return 0.0 if operation.to else 1.0  # it goes with the comparison before it
    taken = ports.use(operation.kind, operation.bits).slots
    return taken * (operation.bits / 256 if operation.kind in _BY_ELEMENT else 1.0)


def fetches(operation: Operation, ports: Ports) -> float:
    """Cycles of the part of the front end that finds instructions: it starts anew where a branch is taken."""
    return slots(operation, ports) / ports.fetch + (
        ports.taken if operation.kind == "branch" and operation.back else 0.0
    )


class _Step:
    """An operation with everything looked up."""

    __slots__ = (
        "address", "fetches", "forward", "latency", "load", "load_latency", "masked", "near", "others", "ports",
        "reads", "slots", "stale", "store", "vector", "writes",
    )  # fmt: skip

    def __init__(self, operation: Operation, ports: Ports) -> None:
        self.slots, self.fetches = slots(operation, ports), fetches(operation, ports)
        self.reads, self.near, self.writes = operation.reads, operation.near, operation.writes
        self.others = tuple(name for name in operation.reads if name not in operation.near)
        self.vector = any(name[0] == "v" for name in operation.writes)
        self.address, self.masked = operation.address, ports.masked if operation.masked else 0.0
        kind = _class(operation, ports)
        self.latency = ports.use(kind, operation.bits).latency if kind else 0.0
        self.load_latency = ports.load_latency if self.vector else ports.uses["load"].latency
        self.forward = ports.forward
        self.stale = ports.stale if any(name[0] == "v" for name in self.others) else ""
        self.load: tuple[str, int] | None = None
        self.store: tuple[str, int] | None = None
        self.ports: tuple[str, int] | None = None
        for kind, where, cycles in passes(operation, ports):
            taken = (where, max(1, ceil(cycles)))
            if kind == "load":
                self.load = taken
            elif kind == "store":
                self.store = taken
            else:
                self.ports = taken
        if operation.load and self.load is None:  # a gather loads by itself
            self.load = ("", 0)


class _Calendar:
    """Which cycles of every port are taken."""

    def __init__(self) -> None:
        self._after: dict[str, dict[int, int]] = {}
        self._used: dict[str, int] = {}

    def take(self, where: str, count: int, ready: float) -> int:
        """The first cycle from `ready` on in which one of the ports is free, and as many after it as are needed."""
        first = ceil(ready)
        best, found = "", -1
        for port in where:
            at = self._free(port, first)
            if found < 0 or at < found or (at == found and self._used.get(port, 0) < self._used.get(best, 0)):
                best, found = port, at
        if not best:
            return first
        after = self._after[best]
        at = found
        for _ in range(count):
            at = self._free(best, at)
            after[at] = at + 1
        self._used[best] = self._used.get(best, 0) + count
        return found

    def _free(self, port: str, at: int) -> int:
        after = self._after.setdefault(port, {})
        if at not in after:
            return at
        seen = []
        while at in after:
            seen.append(at)
            at = after[at]
        for one in seen:
            after[one] = at
        return at


def pace(own: Sequence[Operation], ports: Ports) -> Pace:
    """Cycles of one iteration among many."""
    if not own:
        return Pace(0.0, 0.0)
    if not any(one.kind == "fma" for one in own):  # which alone shares its way to the registers with stores
        ports = replace(ports, stale="")
    known = {id(one): one for one in own}
    steps = {key: _Step(one, ports) for key, one in known.items()}
    return _Core(ports).run([steps[id(one)] for one in own])


class _Core:
    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.calendar = _Calendar()
        self.ready: dict[str, float] = {}
        self.stored: dict[str, float] = {}
        self.held: dict[str, set[str]] = {}  # register → addresses that go by it
        self.alone: dict[str, float] = {}  # the clock of dependences: registers, then addresses
        self.alone_stored: dict[str, float] = {}

    def run(self, steps: Sequence[_Step]) -> Pace:
        ports = self.ports
        rounds = max(_ROUNDS, -(-_WINDOWS * ports.window // len(steps)))
        waiting: list[float] = []  # when the latest to begin did so, as many as can wait, the first of them on top
        left: list[float] = []
        vectors: list[float] = []
        entered, found, last, longest = 0.0, 0.0, 0.0, 0.0
        finished: list[tuple[float, float]] = []
        for _ in range(rounds):
            for step in steps:
                enter = max(entered / ports.width, found)
                entered += step.slots
                found += step.fetches
                if len(left) >= ports.window:
                    enter = max(enter, left[-ports.window])
                if step.vector and len(vectors) >= ports.renames:
                    enter = max(enter, vectors[-ports.renames])
                if len(waiting) == ports.waiting:
                    enter = max(enter, waiting[0])
                entered = max(entered, enter * ports.width)
                found = max(found, enter - _QUEUE / ports.fetch)
                begin, done = self._time(step, enter)
                longest = max(longest, self._dependences(step))
                last = max(last, done)
                left.append(last)
                if step.vector:
                    vectors.append(last)
                if len(waiting) < ports.waiting:
                    heapq.heappush(waiting, begin)
                else:
                    heapq.heappushpop(waiting, begin)
            finished.append((last, longest))
        half = len(finished) // 2
        count = len(finished) - half
        cycles, chain = ((finished[-1][i] - finished[half - 1][i]) / count for i in (0, 1))
        return Pace(cycles, chain)

    def _time(self, step: _Step, enter: float) -> tuple[float, float]:
        """When a step begins and when it could leave."""
        ready, calendar = self.ready, self.calendar
        if step.load is not None:
            start = enter
            for name in step.near:
                start = max(start, ready.get(name, 0.0))
            start = calendar.take(*step.load, start) + step.load_latency
            known = self.stored.get(step.address)
            if known is not None:
                start = max(start, known + step.forward)
            for name in step.others:
                start = max(start, ready.get(name, 0.0))
        else:
            start = enter
            for name in step.reads:
                start = max(start, ready.get(name, 0.0))
        if step.ports is not None:
            start = calendar.take(*step.ports, start)
        done = start + step.latency
        written = done
        if step.store is not None:
            at = calendar.take(*step.store, done)
            written = at + step.store[1]
            if step.stale and (self.ports.fresh or at > ceil(max(ready.get(name, -1.0) for name in step.others))):
                for _ in range(int(self.ports.stale_passes * step.store[1])):
                    calendar.take(step.stale, 1, at)
        for name in step.writes:
            ready[name] = done
            for address in self.held.pop(name, ()):
                self.stored.pop(address, None)
                self.alone_stored.pop(address, None)
        if step.store is not None:
            self.stored[step.address] = done + step.masked
            for name in step.near:
                self.held.setdefault(name, set()).add(step.address)
        return start, written

    def _dependences(self, step: _Step) -> float:
        """When its result would be there if nothing but operands were waited for."""
        alone = self.alone
        start = 0.0
        if step.load is not None:
            for name in step.near:
                start = max(start, alone.get(name, 0.0))
            start += step.load_latency
            known = self.alone_stored.get(step.address)
            if known is not None:
                start = max(start, known + step.forward)
            for name in step.others:
                start = max(start, alone.get(name, 0.0))
        else:
            for name in step.reads:
                start = max(start, alone.get(name, 0.0))
        done = start + step.latency
        for name in step.writes:
            alone[name] = done
        if step.store is not None:
            self.alone_stored[step.address] = done + step.masked
        return done
