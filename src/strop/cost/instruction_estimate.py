"""A tile's instructions guessed from its nest: what the assembly would say, in a fraction of the time.

Unrolled copies share what does not depend on their loops, vectors load whole where they lie along a buffer and element
by element where not, and accumulators that do not fit the registers go to memory and back. Good enough to discard most
of a search space before anything is compiled; `strop.cost.model.estimate` decides among the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log2, prod

from strop.codegen.access import FEWEST_TURNED
from strop.codegen.registers import register_scratch
from strop.cost.assembly import Stretch, busiest
from strop.loops.analysis import CYCLES
from strop.loops.index import Index, Var
from strop.loops.ir import Apply, Buffer, Expr, Load, Loop, Nest, Store, loads
from strop.target.description import Target
from strop.target.ports import Ports

#: pointwise function → class of instruction; what is not here counts as so many multiply-adds as it takes cycles
KINDS = {
    "add": "add", "sub": "add", "mul": "mul", "div": "div", "sqrt": "sqrt", "maximum": "max", "minimum": "max",
    "where": "blend", "lt": "compare", "le": "compare", "gt": "compare", "ge": "compare", "eq": "compare",
    "ne": "compare", "neg": "logic", "abs": "logic", "and": "logic", "or": "logic", "not": "logic", "cast": "convert",
    "reciprocal": "div",
}  # fmt: skip


@dataclass
class _Counts:
    """Instructions of one loop by class, and how many vectors each of its operands has."""

    kinds: dict[str, float] = field(default_factory=dict)
    pieces: dict[str, float] = field(default_factory=dict)  # those of single elements, where vectors are put together
    vector_loads: float = 0.0
    vector_stores: float = 0.0
    operands: list[int] = field(default_factory=list)
    steps: int = 1  # of the reduction, one after the other

    def add(self, kind: str, count: float) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0.0) + count

    def add_piece(self, kind: str, count: float) -> None:
        self.pieces[kind] = self.pieces.get(kind, 0.0) + count


def estimate_instructions(tile: Nest, target: Target) -> Stretch:
    """What the assembly of a tile should look like."""
    return _Estimate(tile, target).whole()


class _Estimate:
    def __init__(self, tile: Nest, target: Target) -> None:
        self.tile, self.target = tile, target
        self.registers = register_scratch(tile)
        wide = any(loop.mode == "vector" for loop in tile.all_loops)
        self.lanes = target.lanes("f32") if wide else 1
        self.bits = target.vector_bits if wide else 32
        self.accumulators = sum(
            -(-b.size // (self.lanes if b.shape else 1)) for b in self.registers if _summed(tile, b)
        )

    def whole(self) -> Stretch:
        inside, own = self._body(self.tile, self.tile.loops, {})
        return self._stretch(1, own, inside)

    def _body(self, nest: Nest, loops: tuple[Loop, ...], copies: Mapping[Var, int]) -> tuple[list[Stretch], _Counts]:
        own, inside = _Counts(), list[Stretch]()
        open_copies = dict(copies)
        for position, loop in enumerate(loops):
            if loop.mode in ("serial", "threads") and loop.extent > 1:
                inner, counts = self._body(nest, loops[position + 1 :], open_copies)
                times = prod(n for v, n in open_copies.items() if v not in copies)
                inside += [self._stretch(loop.extent, counts, inner)] * times
                return inside, own
            open_copies[loop.var] = -(-loop.extent // self.lanes) if loop.mode == "vector" else loop.extent
            if loop.mode == "unroll" and loop.kind == "reduce":
                own.steps *= loop.extent
        lane = next(
            (loop.var for loop in self.tile.all_loops if loop.mode == "vector" and loop.var in open_copies), None
        )
        for item in nest.body:
            if isinstance(item, Store):
                self._statement(item, open_copies, lane, own)
                continue
            inner, counts = self._body(item, item.loops, open_copies)
            inside += inner
            for kind, count in counts.kinds.items():
                own.add(kind, count)
            for kind, count in counts.pieces.items():
                own.add_piece(kind, count)
            own.vector_loads += counts.vector_loads
            own.vector_stores += counts.vector_stores
            own.operands += counts.operands
            own.steps = max(own.steps, counts.steps)
        return inside, own

    def _statement(self, store: Store, copies: Mapping[Var, int], lane: Var | None, own: _Counts) -> None:
        everything = frozenset(copies)
        found = dict.fromkeys(load for load in loads(store) if load.buffer not in self.registers)
        for load in found:
            self._load(load, copies, lane, own)
        self._arithmetic(store.value, copies, own)
        if store.reduce is not None:
            product = isinstance(store.value, Apply) and store.value.op == "mul" and store.reduce == "sum"
            moving = (store.value.vars | _vars(store)) & everything
            own.add("fma" if product else "max" if store.reduce in ("max", "min") else "add", _times(moving, copies))
            if product and isinstance(store.value, Apply):
                own.add("mul", -_times(store.value.vars & everything, copies))
        if store.target not in self.registers:
            stride = store.offset.coefficient(lane) if lane is not None else 0
            count = _times(_vars(store) & everything, copies)
            wide = lane is not None and lane in copies and stride != 0
            own.vector_stores += count if wide and stride == 1 else 0
            if wide and stride != 1 and _turned(store.offset, lane, copies):
                own.add("store", count)
                own.add("shuffle", count * log2(self.lanes))
            elif wide and stride != 1:
                own.add_piece("store", count * self.lanes)
                own.add_piece("shuffle", count * self.lanes)
            else:
                own.add("store", count)

    def _load(self, load: Load, copies: Mapping[Var, int], lane: Var | None, own: _Counts) -> None:
        count = _times(load.vars & frozenset(copies), copies)
        stride = load.offset.coefficient(lane) if lane is not None and lane in copies else 0
        if stride in (0, 1):
            own.add("load", count)
            own.vector_loads += count if stride == 1 else 0
            own.operands.append(count)
        elif _turned(load.offset, lane, copies):
            own.add("load", count)
            own.add("shuffle", count * log2(self.lanes))
        else:
            own.add_piece("load", count * self.lanes)
            own.add_piece("shuffle", count * self.lanes)

    def _arithmetic(self, expr: Expr, copies: Mapping[Var, int], own: _Counts) -> None:
        if not isinstance(expr, Apply):
            return
        times = _times(expr.vars & frozenset(copies), copies)
        kind = KINDS.get(expr.op)
        if kind is not None:
            own.add(kind, times)
        else:
            own.add("fma", times * CYCLES.get(expr.op, 1))
        for arg in expr.args:
            self._arithmetic(arg, copies, own)

    def _stretch(self, trips: int, own: _Counts, inside: list[Stretch]) -> Stretch:
        target, ports = self.target, self.target.ports
        bits = self.bits
        spills = 0.0
        if own.kinds.get("fma") and not inside:
            # of one step the smaller side stays and the larger streams by; what does not fit goes at every step
            held = min(own.operands) / own.steps if len(own.operands) > 1 else 0
            spills = 2.0 * own.steps * max(0.0, self.accumulators + held + 1 - target.vector_registers)
        used = list(_used(own, spills, bits, ports))
        cycles, most = busiest(used)
        size = sum(max(count, 0.0) for count in (*own.kinds.values(), *own.pieces.values())) + spills + 3
        latency = ports.uses["fma"].latency + (ports.forward if spills else 0.0)
        chain = own.steps * latency if own.kinds.get("fma") and not inside else 0.0
        return Stretch(
            trips=trips,
            ports=cycles,
            front=size / ports.width,
            chain=chain,
            cycles=max(cycles, size / ports.width, chain),
            whole=not inside,
            size=int(size),
            loads=sum(passes for kind, _, passes in used if kind == "load"),
            stores=sum(passes for kind, _, passes in used if kind == "store"),
            vector_loads=int(own.vector_loads),
            vector_stores=int(own.vector_stores),
            spills=int(spills),
            spilled=int(spills / 2),
            busiest=most,
            counts={kind: int(count) for kind, count in own.kinds.items() if count > 0},
            inside=tuple(inside),
        )


def _used(own: _Counts, spills: float, bits: int, ports: Ports) -> Iterable[tuple[str, str, float]]:
    for kind, count in own.pieces.items():
        yield kind, ports.uses[kind].ports, count * ports.uses[kind].cycles
    for kind, count in own.kinds.items():
        use = ports.use(kind, bits)
        passes = {
            "load": max(1.0, bits / ports.load_bits), "store": max(1.0, bits / ports.store_bits),
        }.get(kind, max(1.0, bits / ports.pipe_bits))  # fmt: skip
        yield kind, use.ports, max(count, 0.0) * use.cycles * passes
    yield "load", ports.uses["load"].ports, spills / 2 * max(1.0, bits / ports.load_bits)
    yield "store", ports.uses["store"].ports, spills / 2 * max(1.0, bits / ports.store_bits)
    if ports.fresh and own.kinds.get("fma"):  # which wait for every store
        stores = spills / 2 + own.kinds.get("store", 0.0)
        yield "fma", ports.stale, ports.stale_passes * stores * max(1.0, bits / ports.store_bits)


def _turned(offset: Index, lane: Var | None, copies: Mapping[Var, int]) -> bool:
    """Whether copies of an access that jumps from lane to lane are neighbours: squares are turned in registers."""
    return any(var != lane and copies[var] >= FEWEST_TURNED and offset.coefficient(var) == 1 for var in copies)


def _times(moving: Iterable[Var], copies: Mapping[Var, int]) -> int:
    return prod(copies[var] for var in moving)


def _vars(store: Store) -> frozenset[Var]:
    return frozenset[Var]().union(*(part.vars for part in store.index)) if store.index else frozenset()


def _summed(nest: Nest, buffer: Buffer) -> bool:
    """Whether every step adds to it; what takes subtotals can wait in memory meanwhile."""
    return any(store.target == buffer and store.reduce and not _subtotal(store) for store in nest.stores)


def _subtotal(store: Store) -> bool:
    value = store.value
    return isinstance(value, Load) and value.buffer.space == "scratch" and value.buffer.shape == store.target.shape
