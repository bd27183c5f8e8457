"""The order of a training step's nests: weights are packed where they are first read, and memory is freed early.

Graphs are put in order by their outputs, so that a copy of a value that backward needs may stand at the end of forward,
and what it copies would be held until then. A step that frees at least as many bytes as it takes runs as soon as what
it reads is there, and copies of inputs are made as late as possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from strop.loops.calls import PlannedStep
from strop.loops.ir import Buffer
from strop.loops.lowered import LibraryCall
from strop.schedule.memory import room
from strop.schedule.parameter_program import Packing
from strop.schedule.sliding_window import grouped
from strop.schedule.window_chain import InterleavedCalls

Steps = tuple[tuple[PlannedStep, ...], Mapping[int, InterleavedCalls]]
_Unit = PlannedStep | InterleavedCalls


def packed_on_the_way(
    packings: Sequence[Packing], steps: Sequence[PlannedStep], groups: Mapping[int, InterleavedCalls]
) -> Steps:
    """Steps, and groups of them that take turns, with the calls of every packing in front of its first reader."""
    waiting = {buffer: packing for packing in packings for buffer in packing.kept}
    made: list[_Unit] = []
    for unit in grouped(steps, groups):
        for read in unit.touched:
            if (packing := waiting.get(read)) is not None:
                made += packing.calls
                waiting = {b: other for b, other in waiting.items() if other is not packing}
        made.append(unit)
    return _flat(made)


def freeing_early(
    steps: Sequence[PlannedStep],
    groups: Mapping[int, InterleavedCalls],
    outside: Set[Buffer],
    given: Set[Buffer],
    held: Set[Buffer],
) -> Steps:
    """Steps in an order in which none waits that would free as much memory as it takes. What lies `outside` the arena
    takes none of it; what is `given` is there from the start, and what is `held` is there to the end. Library calls,
    which may draw random numbers, stay in order."""
    units = _copies_late(_results_early(grouped(steps, groups)), held)
    before = _dependences(units)
    users = [set(one) for one in _reversed(before)]
    left = [len(one) for one in before]
    remaining: dict[Buffer, int] = {}
    for unit in units:
        for buffer in dict.fromkeys(unit.touched):
            remaining[buffer] = remaining.get(buffer, 0) + 1
    there: set[Buffer] = set(given)
    done = [False] * len(units)
    made: list[_Unit] = []

    def frees(unit: _Unit) -> bool:
        touched = [b for b in dict.fromkeys(unit.touched) if b not in outside]
        taken = sum(room(b) for b in touched if b not in there)
        return taken <= sum(room(b) for b in touched if remaining[b] == 1 and b in there and b not in held)

    def run(position: int) -> list[int]:
        """Run a unit: those that wait for nothing any more."""
        done[position] = True
        made.append(units[position])
        for buffer in dict.fromkeys(units[position].touched):
            remaining[buffer] -= 1
            there.add(buffer)
        ready = []
        for user in users[position]:
            left[user] -= 1
            if not left[user]:
                ready.append(user)
        return sorted(ready)

    ready: list[int] = []
    for position in range(len(units)):
        if done[position]:
            continue
        ready += run(position)
        while (found := next((i for i in ready if not done[i] and frees(units[i])), None)) is not None:
            ready += run(found)
        ready = [i for i in ready if not done[i]]
    return _flat(made)


def _results_early(units: Sequence[_Unit]) -> list[_Unit]:
    """The units with those that nobody waits for right behind what they read: the program may end with copies of
    results into the layout of the caller."""
    dependences = _dependences(units)
    users = _reversed(dependences)
    behind: dict[int, list[int]] = {}
    for i, before in enumerate(dependences):
        if before and not users[i] and not isinstance(units[i], LibraryCall):
            behind.setdefault(max(before), []).append(i)
    moved = {i for results in behind.values() for i in results}
    order = (one for i in range(len(units)) if i not in moved for one in (i, *behind.get(i, ())))
    return [units[i] for i in order]


def _copies_late(units: Sequence[_Unit], held: Set[Buffer]) -> list[_Unit]:
    """The units with those in front of their first readers that inputs alone decide: values that backward computes
    again, and copies of inputs in another layout."""
    dependences = _dependences(units)
    users = _reversed(dependences)
    early: set[int] = set()
    for i, before in enumerate(dependences):
        useful = users[i] and held.isdisjoint(_written(units[i])) and not isinstance(units[i], LibraryCall)
        if useful and before <= early:
            early.add(i)
    made: dict[int, _Unit] = {}
    for i in range(len(units)):
        if i not in early:
            stack = [i]
            while stack:
                waiting = sorted(dependences[stack[-1]] - made.keys())
                if waiting:
                    stack.append(waiting[0])
                else:
                    one = stack.pop()
                    made[one] = units[one]
    return [*made.values(), *(unit for i, unit in enumerate(units) if i not in made)]


def _flat(units: Sequence[_Unit]) -> Steps:
    steps: list[PlannedStep] = []
    groups: dict[int, InterleavedCalls] = {}
    for unit in units:
        if isinstance(unit, InterleavedCalls):
            groups[len(steps)] = unit
            steps += unit.calls
        else:
            steps.append(unit)
    return tuple(steps), groups


def _dependences(units: Sequence[_Unit]) -> list[set[int]]:
    """Which units each has to come after: who wrote what it touches, and who touched what it writes."""
    found: list[set[int]] = []
    writers: dict[Buffer, int] = {}
    touching: dict[Buffer, list[int]] = {}
    library: int | None = None
    for position, unit in enumerate(units):
        written = set(_written(unit))
        before = {writers[b] for b in unit.touched if b in writers}
        before.update(i for b in written for i in touching.get(b, ()))
        if isinstance(unit, LibraryCall):
            before.update(() if library is None else (library,))
            library = position
        for buffer in unit.touched:
            touching.setdefault(buffer, []).append(position)
        writers.update(dict.fromkeys(written, position))
        found.append(before - {position})
    return found


def _written(unit: _Unit) -> tuple[Buffer, ...]:
    if isinstance(unit, LibraryCall):
        return unit.outputs
    if isinstance(unit, InterleavedCalls):
        return tuple(buffer for call in unit.calls for buffer in call.written)
    return unit.written


def _reversed(before: Sequence[set[int]]) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in before]
    for position, needed in enumerate(before):
        for one in needed:
            users[one].append(position)
    return users
