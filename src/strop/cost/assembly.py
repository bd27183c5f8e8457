"""Reading assembly back: what the inner tile of a nest costs a core, from the instructions that LLVM makes of it.

The tile is emitted for a target and compiled to text, nothing is run. Labels and backward branches give the loops,
which stand in the order of the nest's own, so that each gets its trip count. Per loop: cycles by the busiest set of
ports, by the front end, by the longest chain of results that one iteration hands to the next, and with all of these
together (`strop.cost.simulate`).
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from strop.codegen.emit import Function, emit
from strop.codegen.module import attributes
from strop.core.cache import Cache
from strop.cost import instructions, simulate
from strop.cost.instructions import Operation
from strop.cost.simulate import fetches, pace, passes, slots
from strop.loops.index import Index
from strop.loops.ir import Loop, Nest
from strop.target.description import Target
from strop.target.ports import Ports

SPILLED = "spill"
_TRACE = 1200  # instructions of an iteration up to which loops inside are followed with what is around them
_PASSED = Operation("branch", to="next")  # the branch that ends a loop, the last time
_lock = threading.Lock()


@dataclass(frozen=True)
class Stretch:
    """The instructions of one loop (or of the tile outside of its loops), loops inside left out: per iteration.

    `ports` and `front` are cycles by themselves. Where an iteration is short enough to be followed, it is `whole`: then
    `chain` are cycles by dependences alone and `cycles` those of everything together, loops inside included.
    """

    trips: int
    ports: float
    front: float
    chain: float
    cycles: float
    whole: bool
    size: int
    loads: float  # passes of the load ports
    stores: float
    vector_loads: int  # of a whole register
    vector_stores: int
    spills: int
    spilled: int  # whole vectors that are stored among them
    busiest: str  # the class of instruction that fills the busiest ports
    counts: dict[str, int]
    inside: tuple[Stretch, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Stretch:
        return Stretch(**{**stored, "inside": tuple(map(Stretch.from_json, stored["inside"]))})


def read_tile(tile: Nest, target: Target, cache: Cache | None = None) -> Stretch:
    """What a tile costs the core; remembered by its text, in this process and in a cache."""
    function = emit(serial(tile), "tile", target)
    text, rounds = _module_text(function, target), trips(tile)
    parts = (text, rounds, target.instruction_set, target.ports, llvm.llvm_version_info, _own_text())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    known = _memory.get(key)
    if known is None and cache is not None:
        stored = cache.get(key)
        known = _memory[key] = Stretch.from_json(json.loads(stored)) if stored is not None else None
    if known is None:
        known = _memory[key] = analyse(_compile(text, target), rounds, target.ports)
        if cache is not None:
            cache.put(key, json.dumps(known.to_json()).encode())
    return known


_memory: dict[str, Stretch | None] = {}


@functools.cache
def _own_text() -> str:
    """A digest of what reads and simulates assembly."""
    files = (__file__, instructions.__file__, simulate.__file__)
    return hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in files)).hexdigest()


def serial(nest: Nest) -> Nest:
    """The nest on one thread."""
    loops = tuple(replace(loop, mode="serial") if loop.mode == "threads" else loop for loop in nest.loops)
    return replace(nest, loops=loops)


def trips(nest: Nest) -> list[tuple[int, int]]:
    """(depth, iterations) of the loops that stay loops, in the order in which they are emitted."""
    return list(_trips(nest, nest.loops, 0))


def _trips(nest: Nest, loops: tuple[Loop, ...], depth: int) -> Iterable[tuple[int, int]]:
    if not loops:
        for item in nest.body:
            if isinstance(item, Nest):
                yield from _trips(item, item.loops, depth)
        return
    loop, rest = loops[0], loops[1:]
    if loop.extent == 0:
        return
    if loop.mode == "unroll" or loop.extent == 1:
        for _ in range(loop.extent):
            yield from _trips(nest, rest, depth)
    elif loop.mode == "vector":
        yield from _trips(nest, rest, depth)
    else:
        yield depth, loop.extent
        yield from _trips(nest, rest, depth + 1)


# ---- text ------------------------------------------------------------------------------------------------------------


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@functools.lru_cache(maxsize=8)
def _machine(target: Target) -> llvm.TargetMachine:
    _initialise()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.code_features, opt=3, reloc="pic", codemodel="default"
    )


def _module_text(function: Function, target: Target) -> str:
    public = function.text.replace("define internal void", "define void")
    return "\n".join([public, *sorted(function.declarations), attributes(target)])


def _compile(text: str, target: Target) -> str:
    with _lock:
        machine = _machine(target)
        module = llvm.parse_assembly(text, llvm.create_context())
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        return str(machine.emit_assembly(module))


@dataclass
class _AssemblyLine:
    label: str = ""
    operation: Operation | None = None


def lines(assembly: str) -> list[_AssemblyLine]:
    """Labels and instructions of the first function."""
    arm = re.search(r"^\s+(fmov|ldr|str|ldp|stp|fmla)\s", assembly, re.MULTILINE) is not None and "%r" not in assembly
    read = instructions.aarch64 if arm else instructions.x86
    found: list[_AssemblyLine] = []
    for raw in assembly.splitlines():
        text = raw.strip()
        if not text or (text.startswith((".", "#", "//", ";")) and not text.endswith(":")):
            if re.match(r"\.L?\w+:", text):
                found.append(_AssemblyLine(text.split(":")[0]))
            continue
        label = re.match(r"([.\w$]+):", text)
        if label:
            found.append(_AssemblyLine(label[1]))
            continue
        operation = read(text)
        if operation is not None:
            found.append(_AssemblyLine(operation=operation))
    return found


# ---- loops -----------------------------------------------------------------------------------------------------------


@dataclass
class _LoopRegion:
    first: int
    last: int
    inside: list[_LoopRegion] = field(default_factory=list)
    trips: int = 1


def analyse(assembly: str, loops: Sequence[tuple[int, int]], ports: Ports) -> Stretch:
    """Stretches of a function; its loops get their trip counts in the order of the nest."""
    code = lines(assembly)
    return _stretch(_regions(code, loops), code, ports)


def _regions(code: list[_AssemblyLine], loops: Sequence[tuple[int, int]]) -> _LoopRegion:
    where = {line.label: i for i, line in enumerate(code) if line.label}
    ends: dict[int, int] = {}
    for i, line in enumerate(code):
        target = where.get(line.operation.to) if line.operation is not None and line.operation.to else None
        if target is not None and target < i and line.operation is not None:
            line.operation = replace(line.operation, back=True)
            ends[target] = max(ends.get(target, 0), i)
    root = _LoopRegion(0, len(code))
    stack = [root]
    found: list[tuple[int, _LoopRegion]] = []
    for first in sorted(ends):
        region = _LoopRegion(first, ends[first])
        while stack[-1] is not root and stack[-1].last < first:
            stack.pop()
        stack[-1].inside.append(region)
        stack.append(region)
        found.append((len(stack) - 2, region))
    for (_, region), (_, count) in zip(found, loops):
        region.trips = count
    if len(found) != len(loops):  # a loop became straight code or was turned: match by depth as far as it goes
        rest = list(loops)
        for depth, region in found:
            match = next((one for one in rest if one[0] == depth), None)
            region.trips = match[1] if match else 1
            if match:
                del rest[: rest.index(match) + 1]
    return root


def _stretch(region: _LoopRegion, code: list[_AssemblyLine], ports: Ports, follow: bool = True) -> Stretch:
    """`follow`: chains of this region are not followed from one around it."""
    covered = {i for inner in region.inside for i in range(inner.first, inner.last + 1)}
    own = [
        line.operation
        for i, line in enumerate(code[region.first : region.last + 1], region.first)
        if line.operation is not None and i not in covered
    ]
    whole = follow and (not region.inside or _length(region, code) <= _TRACE)
    found = pace(list(_trace(region, code)) if whole else (), ports)
    inside = tuple(_stretch(inner, code, ports, follow and not whole) for inner in region.inside)
    used = [part for operation in own for part in passes(operation, ports)]
    cycles, most = busiest(used)
    counts: dict[str, int] = {}
    for operation in own:
        for name in _names(operation):
            counts[name] = counts.get(name, 0) + 1
    return Stretch(
        trips=region.trips,
        ports=cycles,
        front=max(sum(slots(o, ports) for o in own) / ports.width, sum(fetches(o, ports) for o in own)),
        chain=found.chain,
        cycles=found.cycles,
        whole=whole,
        size=len(own),
        loads=sum(cycles for kind, _, cycles in used if kind == "load"),
        stores=sum(cycles for kind, _, cycles in used if kind == "store"),
        vector_loads=sum(o.load >= 128 and o.load >= o.bits and not o.broadcast and not o.stack for o in own),
        vector_stores=sum(o.store >= 128 and o.store >= o.bits and not o.stack for o in own),
        spills=sum(o.stack and bool(o.load or o.store) for o in own),
        spilled=sum(o.stack and o.store >= 128 for o in own),
        busiest=most,
        counts=counts,
        inside=inside,
    )


def _trace(region: _LoopRegion, code: list[_AssemblyLine]) -> Iterator[Operation]:
    """What one iteration of a region executes, in order."""
    inner = {one.first: one for one in region.inside}
    at = region.first
    while at <= min(region.last, len(code) - 1):
        found = inner.get(at)
        if found is not None:
            for _ in range(found.trips - 1):
                yield from _trace(found, code)
            for one in _trace(found, code):
                yield _PASSED if one.back and one is code[found.last].operation else one
            at = found.last + 1
            continue
        operation = code[at].operation
        if operation is not None:
            yield operation
        at += 1


def _length(region: _LoopRegion, code: list[_AssemblyLine]) -> int:
    inner = sum((one.trips * _length(one, code)) - (one.last - one.first + 1) for one in region.inside)
    return region.last - region.first + 1 + inner


def _names(operation: Operation) -> list[str]:
    names = [operation.kind] if operation.kind else []
    if operation.stack:
        return [*names, SPILLED]
    return names + ["load"] * bool(operation.load) + ["store"] * bool(operation.store)


def busiest(used: Sequence[tuple[str, str, float]]) -> tuple[float, str]:
    """The most cycles that any set of ports needs for what can only run on it, and the class that fills it most."""
    demand: dict[frozenset[str], float] = {}
    for _, where, cycles in used:
        demand[frozenset(where)] = demand.get(frozenset(where), 0.0) + cycles
    best, best_set = 0.0, frozenset[str]()
    for count in range(1, min(len(demand), 4) + 1):
        for group in itertools.combinations(demand, count):
            union = frozenset[str]().union(*group)
            need = sum(cycles for where, cycles in demand.items() if where <= union) / len(union)
            if need > best:
                best, best_set = need, union
    shares: dict[str, float] = {}
    for kind, where, cycles in used:
        if frozenset(where) <= best_set:
            shares[kind] = shares.get(kind, 0.0) + cycles
    return best, max(shares, key=lambda kind: shares[kind], default="")


# ---- tiles -----------------------------------------------------------------------------------------------------------


def bind_outer(nest: Nest, loops: Sequence[Loop]) -> Nest:
    """The nest at the first iteration of loops around it: where it is does not change its instructions."""
    return nest.substitute({loop.var: Index() for loop in loops})
