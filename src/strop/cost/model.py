"""The static cost model: cycles of a scheduled nest on a target, without running anything.

The core's share comes from the assembly of each inner tile (`strop.cost.assembly`): the busiest ports, the front end or
the longest chain of dependent results, times trip counts. The memory's share comes from footprints (`cost.footprint`).
A tile takes as long as the slower of them, and a little of the other, since neither hides the other entirely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, prod

from strop.codegen.registers import register_scratch
from strop.core.cache import Cache
from strop.core.dtypes import SIZES
from strop.core.memoize import remembered
from strop.cost.assembly import Stretch, bind_outer, read_tile
from strop.cost.footprint import Lines, MemoryLevel, Traffic, hopping, tree, unforeseen
from strop.cost.instruction_estimate import estimate_instructions
from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Loop, Nest, Store, loads
from strop.target.description import Target

BOUNDS = ("ports", "front end", "latency", "L1", "L2", "L3", "DRAM")
LEVELS = ("L2", "L3", "DRAM", "TLB")
UNHIDDEN = 0.2  # share of the shorter of two overlapping costs that is not hidden
UNHIDDEN_LEVELS = 0.35  # the same where both are lines from different levels
AT_A_TIME = 3.0  # outstanding misses of a core where the hardware prefetcher does not help
TLB_CYCLES = 1.0  # of a page that the second TLB knows: several are looked up at a time
GOES_BACK = 1.5  # cost of a written line relative to one that is read: from L2 on it is written back, too
STORE_PASSES = 1.0  # of a load port, for a store of more bits than a pass takes
WAITS = 1.1  # a core that takes this much longer than its busiest part needs waits for results
HOPPED_LINES = 4.0  # of a run that are not fetched ahead, where many are taken by turns
LOOP_CYCLES = 1.0  # of an iteration of a loop around tiles
PARTS = (16, 32)  # bytes of a vector that can be loaded by themselves
KEPT_LOOPS = 1  # loops around a tile that are compiled with it


@dataclass(frozen=True)
class CostPart:
    """One inner tile: how often it runs, and cycles of all its runs by what they wait for."""

    times: int
    terms: Mapping[str, float]
    cycles: float
    spills: int
    busiest: str


@dataclass(frozen=True)
class Cost:
    """What a nest should take on one core of a target."""

    nest: str
    target: str
    cycles: float
    terms: Mapping[str, float]  # cycles that each bound would take by itself, summed over tiles
    parts: tuple[CostPart, ...] = field(default=(), repr=False)
    overhead: float = 0.0  # cycles of loops around tiles, forks and joins
    ghz: float = 1.0

    @property
    def microseconds(self) -> float:
        return self.cycles / self.ghz / 1e3

    @property
    def bound(self) -> str:
        """What holds it: the term that would have to shrink first."""
        return max(self.terms, key=lambda name: self.terms[name], default="ports")

    @property
    def spills(self) -> int:
        return max((part.spills for part in self.parts), default=0)

    @property
    def why(self) -> str:
        """One line for people."""
        main = max(self.parts, key=lambda part: part.cycles, default=None)
        share = self.terms.get(self.bound, 0.0) / self.cycles if self.cycles else 0.0
        text = f"{self.cycles:,.0f} cycles ({self.microseconds:.1f} µs), held by {self.bound} ({share:.0%})"
        if main is not None and self.bound == "ports" and main.busiest:
            text += f", mostly {main.busiest}"
        if self.spills:
            text += f"; {self.spills} spills in a tile"
        return text

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Facts:
    """What is known of a nest on a target before anything is weighed: its tiles, and lines that come to each."""

    tiles: tuple[_Tile, ...]
    stretches: tuple[Stretch, ...]
    crossing: tuple[_Crossing, ...]
    fetched: Mapping[str, Lines]
    unforeseen: tuple[frozenset[Buffer], ...]  # by tile
    hopping: tuple[Mapping[Buffer, float], ...]  # with the lines of a run


def estimate(nest: Nest, target: Target, threads: int = 1, cache: Cache | None = None) -> Cost:
    """What a scheduled nest costs, by the assembly of its tiles."""
    return weigh(nest, examine(nest, target, lambda tile: read_tile(tile, target, cache)), target, threads)


@remembered(maxsize=4096)
def guess(nest: Nest, target: Target, threads: int = 1) -> Cost:
    """What it should cost by the nest alone: rougher, and quick enough for a whole space.

    Layouts are chosen by guesses, and here a sum that reads its panels in wide vectors counts as one of many short
    runs. Without that, networks of depthwise convolutions get blocked layouts, which were not found to be faster.
    """
    return weigh(nest, examine(nest, target, lambda tile: estimate_instructions(tile, target), False), target, threads)


def examine(nest: Nest, target: Target, read: Callable[[Nest], Stretch], by_lanes: bool = True) -> Facts:
    """Read the tiles of a nest and count what its loops fetch; `by_lanes` as `unforeseen` has it."""
    registers = register_scratch(nest)
    tiles = tuple(_tiles(nest, registers, ()))
    root = tree(nest, {tile.nest: i for i, tile in enumerate(tiles)}, registers)
    return Facts(
        tiles,
        tuple(read(tile.code) for tile in tiles),
        tuple(_crossing(tile.nest, target) for tile in tiles),
        {level.name: Traffic(root, level).lines() for level in memory_levels(target)},
        tuple(unforeseen(tile.nest, memory_levels(target)[1], by_lanes) for tile in tiles),
        tuple(hopping(tile.nest, tile.around, memory_levels(target)[1]) for tile in tiles),
    )


def weigh(nest: Nest, facts: Facts, target: Target, threads: int = 1) -> Cost:
    """Cycles from facts."""
    parts = []
    for i, (tile, stretch) in enumerate(zip(facts.tiles, facts.stretches)):
        terms = _core(stretch, facts.crossing[i], target)
        terms = {name: cycles * tile.times for name, cycles in terms.items()}
        terms["core"] += tile.overhead
        for level in memory_levels(target):
            terms[level.name] = _memory(level, facts, i, target)
        _, hottest = _hottest(stretch)
        parts.append(CostPart(tile.times, terms, _together(terms), hottest.spills, hottest.busiest))
    overhead = sum(tile.overhead for tile in facts.tiles)
    total = {name: sum(part.terms.get(name, 0.0) for part in parts) for name in (*BOUNDS, "TLB")}
    cycles = sum(part.cycles for part in parts)
    if nest.loops and nest.loops[0].mode == "threads":
        extent = nest.loops[0].extent
        cycles = cycles * -(-extent // threads) / extent + target.fork_join_us * target.ghz * 1e3
    terms = {name: spent for name, spent in total.items() if spent}
    return Cost(nest.name, target.name, cycles, terms, tuple(parts), overhead, target.ghz)


# ---- tiles -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tile:
    """A nest that is compiled by itself, how often it runs, and cycles of the loops around it."""

    nest: Nest
    around: tuple[Loop, ...]
    code: Nest
    times: int
    overhead: float


def _tiles(nest: Nest, registers: frozenset[Buffer], around: tuple[Nest, ...]) -> Sequence[_Tile]:
    """The smallest nests that hold whole tiles: those with statements of their own, or with scratch in registers."""
    alone = any(isinstance(item, Store) for item in nest.body) or any(s in registers for s in nest.scratch)
    if not alone and nest.body:
        return [
            tile for item in nest.body if isinstance(item, Nest) for tile in _tiles(item, registers, (*around, nest))
        ]
    serial = [i for i, loop in enumerate(nest.loops) if loop.mode in ("serial", "threads") and loop.extent > 1]
    first = serial[-KEPT_LOOPS] if len(serial) >= KEPT_LOOPS else 0
    farther = tuple(loop for one in around for loop in one.loops)
    outside = [*farther, *nest.loops[:first]]
    uneven = _uneven(nest)
    bound = [loop for loop in outside if loop.var not in uneven]
    kept = tuple(loop for loop in outside if loop.var in uneven)
    code = bind_outer(Nest((*kept, *nest.loops[first:]), nest.body, nest.scratch), bound)
    overhead, running = 0.0, 1
    for loop in outside:
        running *= loop.extent
        overhead += LOOP_CYCLES * running if loop.extent > 1 else 0.0
    return [_Tile(nest, farther, code, prod(loop.extent for loop in bound), overhead)]


def _uneven(nest: Nest) -> frozenset[Var]:
    """Variables inside quotients and remainders: which instructions an access takes may depend on where they are."""
    found = frozenset[Var]()
    for store in nest.stores:
        for offset in (store.offset, *(load.offset for load in loads(store))):
            for atom, _ in offset.terms:
                if not isinstance(atom, Var):
                    found |= Index(((atom, 1),)).vars
    return found


def _core(stretch: Stretch, crossing: _Crossing, target: Target) -> dict[str, float]:
    """Cycles of one run of a tile, as if each bound were alone; `core` is what they come to together."""
    ports = target.ports
    passes = stretch.loads + ports.crossing * stretch.vector_loads * crossing.loads
    if target.vector_bytes * 8 > ports.store_bits:
        passes += STORE_PASSES * (stretch.vector_stores + stretch.spilled)
    stores = stretch.stores + ports.crossing_store * stretch.vector_stores * crossing.stores
    loads = max(passes / len(ports.uses["load"].ports), stores / len(ports.uses["store"].ports))
    busy = max(stretch.ports, loads)
    inner = [_core(one, crossing, target) for one in stretch.inside]
    loads += sum(one["loads"] for one in inner)
    found = {
        "ports": busy + sum(one["ports"] for one in inner),
        "front end": stretch.front + sum(one["front end"] for one in inner),
        "latency": stretch.chain or sum(one["latency"] for one in inner),
        "loads": loads,
        "core": max(stretch.cycles, loads)
        if stretch.whole
        else max(busy, stretch.front) + sum(one["core"] for one in inner),
    }
    if stretch.whole:
        found["core"] += sum(one["wrong"] for one in inner)
    branches = stretch.trips * (1.0 + sum(one["branches"] for one in inner))
    wrong = stretch.trips * sum(one["wrong"] for one in inner)
    if stretch.whole and stretch.cycles > WAITS * max(found["ports"], found["front end"]):
        found["latency"] = stretch.cycles  # neither is busy: results are waited for
    found = {name: cycles * stretch.trips for name, cycles in found.items()}
    if branches > ports.foreseen:
        found["core"] += ports.mispredict
        wrong += ports.mispredict
    return {**found, "branches": branches, "wrong": wrong}


@dataclass(frozen=True)
class _Crossing:
    """The shares of vector loads and of vector stores that reach over the end of a line."""

    loads: float
    stores: float


def _crossing(nest: Nest, target: Target) -> _Crossing:
    lanes = frozenset(loop.var for loop in nest.all_loops if loop.mode == "vector")
    written_out = frozenset(loop.var for loop in nest.all_loops if loop.mode == "unroll")
    read, written = [], []
    for store in nest.stores:
        for load in loads(store):
            if load.buffer.space != "scratch" and not lanes.isdisjoint(load.vars):
                read.append(_over_the_end(load.offset, load.buffer, lanes, written_out, target))
        if store.target.space != "scratch" and not lanes.isdisjoint(store.offset.vars):
            written.append(_over_the_end(store.offset, store.target, lanes, written_out, target))
    return _Crossing(_mean(read), _mean(written))


def _mean(found: Sequence[float | None]) -> float:
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else 0.0


def _over_the_end(
    offset: Index, buffer: Buffer, lanes: frozenset[Var], written_out: frozenset[Var], target: Target
) -> float | None:
    """How often a vector at an offset reaches over the end of a line; none where it does not lie along the buffer."""
    along = next((v for v in offset.vars if v in lanes | written_out and offset.coefficient(v) == 1), None)
    if along is None:
        return None
    size, width, step = SIZES[buffer.dtype], target.vector_bytes, target.line
    if along not in lanes and along.extent * size in PARTS:  # rows that are turned in registers
        width = along.extent * size
    for atom, factor in offset.terms:
        if atom != along:
            step = gcd(step, factor * size)
    step = gcd(step, target.vector_bytes) or 1
    start: int = offset.const * size % target.line
    places = [(start + i * step) % target.line for i in range(target.line // step)]
    return sum(place + width > target.line for place in places) / len(places)


def _hottest(stretch: Stretch, times: int = 1) -> tuple[float, Stretch]:
    """The stretch in which the core spends most of its time, and how long."""
    times *= stretch.trips
    own = (times * max(stretch.ports, stretch.front), stretch)
    return max((own, *(_hottest(inner, times) for inner in stretch.inside)), key=lambda found: found[0])


# ---- memory ----------------------------------------------------------------------------------------------------------


@remembered(maxsize=16)
def memory_levels(target: Target) -> tuple[MemoryLevel, ...]:
    """Misses of L1 come from L2, and so on; a miss of the TLB costs a walk."""
    line = target.line
    return (
        MemoryLevel("L2", target.l1 // line, line, target.l1 // line // target.l1_ways),
        MemoryLevel(
            "L3", target.l2 // line, line, tight=0.6, full=1.1
        ),  # by physical addresses: pages fall on few sets
        MemoryLevel("DRAM", target.l3 // line, line, tight=0.4, full=1.0),  # others use it too
        MemoryLevel("TLB", target.tlb, target.page),
    )


def _memory(level: MemoryLevel, facts: Facts, part: int, target: Target) -> float:
    """Cycles for the lines that come from a level, and for those that go back to it."""
    found = {key: count for key, count in facts.fetched[level.name].items() if key.part == part}
    if level.name == "TLB":
        return sum(found.values()) * TLB_CYCLES
    at = LEVELS.index(level.name)
    rate = level.line / target.bandwidth[at + 1]
    written = rate * GOES_BACK if level.name != "L2" else rate  # which takes lines while it gives others
    # stores leave in order: where each writes an element, few lines can be on their way at a time
    waited = target.latency[at] * level.line / 4 / target.ports.stores
    # where the next lines are not foreseen, as many are on their way as the core finds for itself
    late = rate if level.name == "L2" else max(rate, target.latency[at] / AT_A_TIME)
    cycles = 0.0
    for key, count in found.items():
        one_by_one = key.writes and key.small and not key.scattered
        read = late if key.buffer in facts.unforeseen[part] else rate
        one = max(rate, waited) if one_by_one else written if key.writes else read
        if level.name != "L2" and (run := facts.hopping[part].get(key.buffer)):
            one *= 1 + (target.hopped - 1) * min(1.0, HOPPED_LINES / run)
        cycles += count * one
    return cycles


def _together(terms: Mapping[str, float]) -> float:
    """Memory traffic overlaps with computation: the slower of the two counts, plus a share of the other."""
    levels = [terms[name] for name in LEVELS]
    memory = max(levels) + UNHIDDEN_LEVELS * (sum(levels) - max(levels))
    return max(terms["core"], memory) + UNHIDDEN * min(terms["core"], memory)
