"""Packed copies of operands in the order in which they are read, and prefetching of what is read next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod

from strop.core.dtypes import SIZES
from strop.core.passes import Pass, Verdict, no, yes
from strop.core.values import changed
from strop.loops.index import ZERO, Index, Var, index_of
from strop.loops.ir import CONSTANT, Buffer, Guard, Load, Loop, Nest, Store, loads
from strop.loops.passes.primitives import change_loop, exists
from strop.loops.passes.targeted import MOST_VECTORS, TargetedNest
from strop.loops.rewriting import replace_loads

LINE_BYTES = 64  # asked for at a time
PAGE_BYTES = 4096  # from which on the hardware prefetcher does not follow a stream
MOST_STEPS = 16  # iterations per cache line of the next part, up to which prefetching it pays


def _paths(nest: Nest, name: str, around: tuple[str, ...] = ()) -> list[tuple[Nest, tuple[str, ...]]]:
    """Every (sub)nest that owns a loop of this name, with the names of the loops around what is inside of it."""
    names = tuple(loop.name for loop in nest.loops)
    if name in names:
        return [(nest, (*around, *names[: names.index(name) + 1]))]
    return [found for item in nest.body if isinstance(item, Nest) for found in _paths(item, name, (*around, *names))]


def loops_around(nest: Nest, name: str) -> tuple[str, ...]:
    """The loops of outer nests around the one that owns a loop, outermost first."""
    found = next(((owner, around) for owner, around in _paths(nest, name)), None)
    if found is None:
        return ()
    own = {loop.name for loop in found[0].loops}
    return tuple(other for other in found[1] if other not in own)


@dataclass(frozen=True)
class Pack(Pass):
    """… w[f(n, k)] …   →   … p[n÷by, k, n mod by] …   where p holds the same elements in the order of reading

    `order` names the other loops that the read depends on, outermost first. With `at`, the copy is made inside that
    loop into scratch; without, `copy` is a nest of its own: for parameters it runs once, otherwise at every call.
    """

    nest: str
    buffer: str
    along: str
    by: int
    order: tuple[str, ...]
    at: str = ""

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.along, *self.order, *((self.at,) if self.at else ()))
        if not found:
            return found
        if self.by < 1:
            return no(f"`by` must be at least 1, got {self.by}", ir.name)
        names = (self.along, *self.order)
        if len(set(names)) != len(names):
            return no("a loop is named twice", ir.name)
        several = [name for name in names if len({loop.var for loop in ir.all_loops if loop.name == name}) > 1]
        if several:
            return no(f"there are loops `{several[0]}` of several extents", ir.name)
        reads = self._reads(ir)
        if len(reads) != 1:
            return no(f"`{self.buffer}` is read in {len(reads)} ways, a packed copy serves one", ir.name)
        if reads[0].buffer in (*ir.writes, *ir.all_scratch):
            return no(f"`{self.buffer}` is written here", ir.name)
        return self._places(ir, reads[0])

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Pack]:
        """Parameters in whole vectors along a loop of the nest, in the order of its other loops."""
        reads = dict.fromkeys(load for store in ir.nest.stores for load in loads(store))
        order = tuple(dict.fromkeys(loop.name for loop in ir.nest.all_loops if loop.extent > 1))
        for load in (load for load in reads if load.buffer.space in CONSTANT and not load.guards):
            near = {var.name for var in load.vars}
            for along in (loop.name for loop in ir.nest.loops if loop.name in near and loop.extent > 1):
                others = tuple(name for name in order if name in near and name != along)
                widths = (count * ir.lanes for count in range(1, MOST_VECTORS + 1))
                packs = (cls(ir.name, load.buffer.name, along, by, others) for by in widths)
                yield from (one for one in packs if one.check(ir.nest))

    def _places(self, ir: Nest, read: Load) -> Verdict:
        """Whether the loops around the read and around the copy are those that the packed copy needs."""
        depends = {v.name for v in read.vars}
        idle = [name for name in self.order if name not in depends]
        if idle:
            return no(f"the read does not depend on `{idle[0]}`", ir.name)
        outside = [name for name in self._outside(ir) if name in (self.along, *self.order)]
        if outside:
            return no(f"`{outside[0]}` is outside of `{self.at}`", ir.name)
        missing = sorted(depends - {self.along, *self.order, *self._outside(ir)})
        if missing:
            return no(f"the read also depends on `{missing[0]}`", ir.name)
        inside = sum(read in loads(s) for owner, _ in _paths(ir, self.at) for s in owner.stores)
        if self.at and inside != sum(read in loads(s) for s in ir.stores):
            return no(f"`{self.buffer}` is read outside of `{self.at}` too", ir.name)
        return yes()

    def _reads(self, ir: Nest) -> list[Load]:
        """The reads of the buffer that move along the packed loop."""
        reads = [load for s in ir.stores for load in loads(s) if load.buffer.name == self.buffer]
        return list(dict.fromkeys(load for load in reads if any(v.name == self.along for v in load.vars)))

    def _outside(self, ir: Nest) -> tuple[str, ...]:
        """Loops around the copy: the copy holds what one iteration of them needs."""
        return next((around for _, around in _paths(ir, self.at)), ())

    def _loops(self, ir: Nest) -> tuple[Loop, tuple[Loop, ...]]:
        by_name = {loop.name: loop for loop in ir.all_loops}
        return by_name[self.along], tuple(by_name[name] for name in self.order)

    def packed(self, ir: Nest) -> Buffer:
        along, order = self._loops(ir)
        source = self._reads(ir)[0].buffer
        shape = (-(-along.extent // self.by), *(loop.extent for loop in order), self.by)
        name = f"{self.nest}.{source.name}"
        if any(buffer.name == name for buffer in (*ir.reads, *ir.all_scratch)):  # a part of it is packed already
            name = f"{name}.{self.along}"
        return Buffer(name, source.dtype, shape, "scratch" if self.at else "arena")

    def copy(self, ir: Nest) -> Nest:
        """The nest that fills the packed copy.

        Past the end of `along`, where only a copy of its own may be read (by whole vectors), it holds what a failing
        guard would read.
        """
        along, order = self._loops(ir)
        load, target = self._reads(ir)[0], self.packed(ir)
        fresh = {loop.var: Var(f"{loop.name}.pack", loop.extent) for loop in order}
        if self.at:
            whole = Var(f"{self.along}.pack", along.extent)
            at, outer, inner = index_of(whole), [], whole
            places = (at // self.by, at % self.by)
        else:
            block, inner = Var(f"{self.along}.block", target.shape[0]), Var(f"{self.along}.lane", self.by)
            at, outer = index_of(block) * self.by + index_of(inner), [block]
            places = (index_of(block), index_of(inner))
        source = load.substitute({along.var: at, **{old: index_of(new) for old, new in fresh.items()}})
        if at.bounds[1] >= along.extent:
            source = changed(source, guards=(*source.guards, Guard(at, along.extent)))
        index = (places[0], *(index_of(v) for v in fresh.values()), places[1])
        loops = tuple(Loop(v) for v in (*outer, *fresh.values(), inner))
        reader = next(store for store in ir.stores if load in store.loads)
        copy = Store(target, index, source, nodes=reader.nodes, number=reader.number)
        return Nest(loops, (copy,), (), f"{self.nest}.pack", ir.origin, f"pack {load.buffer.name}")

    def apply(self, ir: Nest) -> Nest:
        along, order = self._loops(ir)
        load, target = self._reads(ir)[0], self.packed(ir)
        at = index_of(along.var)
        index = (at // self.by, *(index_of(loop.var) for loop in order), at % self.by)
        copy = self.copy(ir)

        def read(found: Load) -> Load:
            return Load(target, index) if found == load else found

        made = ir.map_stores(lambda s: changed(s, value=replace_loads(s.value, read)))
        if not self.at:
            return made
        return change_loop(made, self.at, lambda nest, position: _insert_first(nest, position, copy, target))


def _insert_first(nest: Nest, position: int, copy: Nest, target: Buffer) -> Nest:
    """The nest with `copy` run at the start of each iteration of its loop at `position`."""
    inner = changed(nest, loops=nest.loops[position + 1 :], name="", note="")
    first = changed(copy, name="", note="")
    return changed(nest, loops=nest.loops[: position + 1], body=(first, inner), scratch=(target,))


@dataclass(frozen=True)
class Prefetch(Pass):
    """… w[i] …   →   … w[i] …, and w[i + ahead] is on its way"""

    nest: str
    buffer: str
    ahead: int

    def check(self, ir: Nest) -> Verdict:
        if self.ahead < 1:
            return no(f"`ahead` must be at least 1, got {self.ahead}", ir.name)
        return _is_read(ir, self.buffer)

    def apply(self, ir: Nest) -> Nest:
        def read(load: Load) -> Load:
            return changed(load, prefetch=load.offset + self.ahead) if load.buffer.name == self.buffer else load

        return ir.map_stores(lambda s: changed(s, value=replace_loads(s.value, read)))

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Prefetch]:
        """Four vectors and a page ahead in each parameter that nothing is prefetched of."""
        for buffer in _not_prefetched(ir.nest):
            ahead = (4 * ir.lanes, PAGE_BYTES // SIZES[buffer.dtype])
            yield from (cls(ir.name, buffer.name, elements) for elements in ahead if elements < buffer.size)


@dataclass(frozen=True)
class PrefetchNext(Pass):
    """for o: … w[o, i] …   →   for o: … w[o, i] …, and at every step inside some of w[o + 1] is on its way

    The next part of the buffer arrives while this one is used: its lines are asked for evenly over the iterations of
    the loops inside `loop` that are not written out, several lines in each or one again for as many as it takes. With
    more than `MOST_STEPS` iterations per line it is not asked for: what is used that long costs little to wait for.
    """

    nest: str
    buffer: str
    loop: str

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        read = _is_read(ir, self.buffer)
        if not read:
            return read
        over = {loop.var for loop in ir.all_loops if loop.name == self.loop}
        reads = [load for s in ir.stores for load in loads(s) if load.buffer.name == self.buffer]
        around = {name for _, names in _paths(ir, self.loop) for name in names}
        outside = {loop.var: ZERO for loop in ir.all_loops if loop.name in around}
        if not all(any(_in_parts(load.offset, var, outside) for var in over) for load in reads):
            return no(f"`{self.buffer}` isn't read part by part along `{self.loop}`", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._ask)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[PrefetchNext]:
        """Each loop that a parameter is read part by part along, where nothing of it is prefetched."""
        for buffer in _not_prefetched(ir.nest):
            found = (cls(ir.name, buffer.name, owner.loops[position].name) for owner, position in ir.open_loops())
            yield from (one for one in found if one.check(ir.nest))

    def _ask(self, nest: Nest, position: int) -> Nest:
        inside = changed(nest, loops=nest.loops[position + 1 :])
        asking = self._spread(inside, nest.loops[position].var, inside, ZERO)
        return changed(nest, body=asking.body)

    def _steps(self, item: Nest | Store) -> int:
        """How often loops that stay loops come to a read of the buffer."""
        if isinstance(item, Store):
            return int(any(load.buffer.name == self.buffer for load in loads(item)))
        turns = prod(loop.extent for loop in item.loops if loop.mode not in ("vector", "unroll"))
        return turns * sum(self._steps(part) for part in item.body)

    def _spread(self, nest: Nest, over: Var, whole: Nest, done: Index) -> Nest:
        """The nest with prefetches on its loads; `done` steps of the whole come before it."""
        turns = sum(self._steps(part) for part in nest.body)
        for loop in reversed(nest.loops):
            if loop.mode not in ("vector", "unroll"):
                done = done + index_of(loop.var) * turns
                turns *= loop.extent
        body: list[Nest | Store] = []
        for item in nest.body:
            if isinstance(item, Nest):
                body.append(self._spread(item, over, whole, done))
            else:
                asking = partial(self._asking, over=over, whole=whole, done=done)
                body.append(changed(item, value=replace_loads(item.value, asking)))
            done = done + self._steps(item)
        return changed(nest, body=tuple(body))

    def _asking(self, load: Load, over: Var, whole: Nest, done: Index) -> Load:
        if load.buffer.name != self.buffer:
            return load
        line = LINE_BYTES // SIZES[load.dtype]
        part, steps = load.offset.coefficient(over) or 0, self._steps(whole) * line
        if steps > MOST_STEPS * part:
            return load
        lines, often = -(-part // steps), max(steps // part, 1)
        start = load.offset.substitute({loop.var: ZERO for loop in whole.all_loops})
        prefetch = start.substitute({over: index_of(over) + 1}) + done // often * (lines * line)
        if lines > 1:  # the loads of a step prefetch different lines, as far apart as the loads themselves
            looped = dict.fromkeys((over, *(loop.var for loop in whole.all_loops if loop.mode == "serial")), ZERO)
            prefetch = prefetch + (load.offset.substitute(looped) - load.offset.const) % (lines * line)
        return changed(load, prefetch=prefetch)


def _in_parts(offset: Index, over: Var, outside: Mapping[Var, Index]) -> bool:
    """Whether iterations read disjoint contiguous parts of the buffer, whatever the outer loops do."""
    step = offset.coefficient(over) or 0
    low, high = offset.substitute({**outside, over: ZERO}).bounds
    return 0 <= low <= high < step


def _not_prefetched(nest: Nest) -> list[Buffer]:
    """Parameters that a nest reads, but for those of which something is prefetched."""
    reads = [load for store in nest.stores for load in loads(store)]
    asked = {load.buffer for load in reads if load.prefetch is not None}
    return [b for b in dict.fromkeys(load.buffer for load in reads) if _is_kept(b, nest) and b not in asked]


def _is_kept(buffer: Buffer, nest: Nest) -> bool:
    """Whether it is a parameter, or what the nest has packed of one."""
    return buffer.space in CONSTANT or (buffer.space == "arena" and buffer.name.startswith(f"{nest.name}."))


def _is_read(ir: Nest, buffer: str) -> Verdict:
    if any(load.buffer.name == buffer for s in ir.stores for load in loads(s)):
        return yes()
    return no(f"`{buffer}` is not read", ir.name)
