"""Reductions in parts: blocks, so that operands stay in a cache, lanes, so that they can be vectorised, and
subtotals, so that long sums stay accurate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Load, Loop, Nest, Store, neutral
from strop.loops.passes.primitives import change_loop, exists, find_loop, pieces
from strop.loops.passes.targeted import TargetedNest, is_open
from strop.loops.rewriting import replace_loads

BLOCKS = (16, 64, 256)  # steps of a reduction whose operands may fit a cache
VECTORS = (1, 2, 4, 8)  # of accumulators
SUBTOTALS = (32, 256)  # steps of a sum of elements, and of a sum of products, that keep their digits


@dataclass(frozen=True)
class Block(Pass):
    """for i: {a = b(i); for k: a += f(i, k); y(i) = a}
    →  {for i: s[i] = b(i); for k.b: for i: {a = 0; for k in the block: a += f(i, k); s[i] += a}; for i: y(i) = s[i]}

    `inside` names the parallel loops that run within a block of the reduction; sums of their points are kept in
    scratch. The others stay outside, so that they decide how large that scratch is.
    """

    nest: str
    loop: str
    by: int
    inside: tuple[str, ...]

    def check(self, ir: Nest) -> Verdict:
        inner = [item for item in ir.body if isinstance(item, Nest)]
        if len(inner) != 1 or any(isinstance(item, Nest) for item in inner[0].body):
            return no("only a nest around one plain reduction can be blocked", ir.name)
        names = [loop.name for loop in ir.loops]
        if not self.inside or tuple(names[-len(self.inside) :]) != self.inside:
            return no(f"`inside` must name the innermost parallel loops of {', '.join(names)}, in order", ir.name)
        if any(loop.kind != "parallel" or loop.mode != "serial" for loop in ir.loops):
            return no("blocking comes before loops are unrolled or vectorised", ir.name)
        found = next((loop for loop in inner[0].loops if loop.name == self.loop), None)
        if found is None or found.kind != "reduce":
            return no(f"`{self.loop}` is not a loop of the reduction", ir.name)
        if not 1 <= self.by < found.extent:
            return no(f"`by` must be between 1 and {found.extent - 1}, got {self.by}", ir.name)
        local = set(ir.scratch)
        if any(s.reduce is None or s.target not in local or s.index for s in inner[0].stores):
            return no("every statement of the reduction must add to a scalar of this nest", ir.name)
        if any(isinstance(s, Store) and s.target in local and s.reduce for s in ir.body):
            return no("sums are changed outside of the reduction", ir.name)
        starts = _starts(ir, inner[0])
        if len(starts) != len({s.target for s in inner[0].stores}):
            return no("every sum must be started once", ir.name)
        if any(load.buffer in local for start in starts.values() for load in start.loads):
            return no("sums start with what is computed just before", ir.name)
        return yes()

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Block]:
        """Blocks of a few sizes of each long loop of the reduction, with all loops or the innermost one inside."""
        names = tuple(loop.name for loop in ir.nest.loops)
        inner = next((item for item in ir.nest.body if isinstance(item, Nest)), None)
        for loop in filter(is_open, inner.loops if inner is not None else ()):
            for inside in dict.fromkeys((names, names[-1:])):
                blocks = (cls(ir.name, loop.name, by, inside) for by in BLOCKS if by < loop.extent)
                yield from (one for one in blocks if one.check(ir.nest))

    def apply(self, ir: Nest) -> Nest:
        reduce = next(item for item in ir.body if isinstance(item, Nest))
        at = ir.body.index(reduce)
        summed = {store.target: store.reduce for store in reduce.stores}
        outside, inside = ir.loops[: -len(self.inside)], ir.loops[-len(self.inside) :]
        shape = tuple(loop.extent for loop in inside)
        place = tuple(index_of(loop.var) for loop in inside)
        kept = {b: Buffer(f"{b.name}.sum", b.dtype, shape, "scratch") for b in summed}
        parts: list[Store | Nest] = []
        starts = _starts(ir, reduce)
        parts.append(Nest(inside, tuple(replace(starts[b], target=kept[b], index=place, reduce=None) for b in summed)))
        first = 0
        position = next(i for i, loop in enumerate(reduce.loops) if loop.name == self.loop)
        whole = reduce.loops[position]
        for count, size in pieces(whole.extent, self.by):
            parts.append(self._part(ir, reduce, position, first, count, size, inside, kept))
            first += count * size
        parts.append(self._finish(ir, at, inside, place, kept))
        return replace(ir, loops=outside, body=tuple(parts), scratch=tuple(kept.values()))

    def _part(
        self,
        ir: Nest,
        reduce: Nest,
        position: int,
        first: int,
        count: int,
        size: int,
        inside: tuple[Loop, ...],
        kept: dict[Buffer, Buffer],
    ) -> Nest:
        """Blocks of one size: the nest as it was, over a part of the reduction, adding to what is kept."""
        whole = reduce.loops[position]
        outer, inner = Var(f"{self.loop}.b", count), Var(self.loop, size)
        value = index_of(outer) * size + index_of(inner) + first
        loops = (*reduce.loops[:position], replace(whole, var=inner), *reduce.loops[position + 1 :])
        shorter = replace(reduce.substitute({whole.var: value}), loops=loops)
        place = tuple(index_of(loop.var) for loop in inside)
        sums = {store.target: store for store in reduce.stores}
        before = (_anew(item, {b: s.reduce for b, s in sums.items()}) for item in ir.body[: ir.body.index(reduce)])
        add = tuple(replace(s, target=kept[b], index=place, value=Load(b, ()), guards=()) for b, s in sums.items())
        return Nest((Loop(outer, "reduce"), *inside), (*before, shorter, *add), ir.scratch)

    def _finish(
        self, ir: Nest, at: int, inside: tuple[Loop, ...], place: tuple[Index, ...], kept: dict[Buffer, Buffer]
    ) -> Nest:
        """What followed the reduction, reading the sums that were kept."""

        def read(load: Load) -> Load:
            return Load(kept[load.buffer], place) if load.buffer in kept else load

        after = [item for item in ir.body[at + 1 :] if isinstance(item, Store)]
        body = tuple(replace(item, value=replace_loads(item.value, read)) for item in after)
        used = {s.target for s in body} | {load.buffer for s in body for load in s.loads}
        return Nest(inside, body, tuple(b for b in ir.scratch if b in used and b not in kept))


def _starts(ir: Nest, reduce: Nest) -> dict[Buffer, Store]:
    """The statements that start the sums of a reduction, if each has one."""
    sums = {store.target for store in reduce.stores}
    before = ir.body[: ir.body.index(reduce)]
    found = [item for item in before if isinstance(item, Store) and item.target in sums]
    return {item.target: item for item in found} if len({item.target for item in found}) == len(found) else {}


def _anew(item: Store | Nest, sums: Mapping[Buffer, str | None]) -> Store | Nest:
    """A statement before a part of the reduction: sums start from nothing there."""
    if isinstance(item, Nest) or item.target not in sums:
        return item
    return replace(item, value=Const(neutral(str(sums[item.target]), item.target.dtype), item.target.dtype))


@dataclass(frozen=True)
class RFactor(Pass):
    """for k: a op= x(k)   →   {v[l] = neutral; for k.o: for l: v[l] op= x(k.o·by + l); for l: a op= v[l]}

    Gives a reduction `by` independent accumulators, so that it can be vectorised along its own axis.
    """

    nest: str
    loop: str
    by: int

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        owner, position = find_loop(ir, self.loop) or (ir, 0)
        if position != len(owner.loops) - 1 or any(isinstance(item, Nest) for item in owner.body):
            return no(f"`{self.loop}` must be the innermost loop of a plain nest", ir.name)
        reducing = [s for s in owner.body if isinstance(s, Store) and s.reduce]
        if not reducing:
            return no(f"nothing is reduced over `{self.loop}`", ir.name)
        own = set(owner.vars)
        if any(own & part.vars for s in reducing for part in s.index):
            return no("a reduction into an element per iteration is not a reduction over the loop", ir.name)
        extent = owner.loops[position].extent
        if self.by < 2 or self.by > extent:
            return no(f"`by` must be between 2 and {extent}, got {self.by}", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._lanes)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[RFactor]:
        """One to eight vectors of accumulators."""
        for owner, position in ir.open_loops():
            lanes = (cls(ir.name, owner.loops[position].name, count * ir.lanes) for count in VECTORS)
            if owner.loops[position].kind == "reduce":
                yield from (one for one in lanes if one.check(ir.nest))

    def _lanes(self, nest: Nest, position: int) -> Nest:
        around, loop = nest.loops[:-1], nest.loops[-1]
        partial = {
            (s.target, s.index): Buffer(f"{s.target.name}.{self.loop}", s.target.dtype, (self.by,), "scratch")
            for s in nest.body
            if isinstance(s, Store) and s.reduce
        }
        lane = Loop(Var(f"{self.loop}.l", self.by))
        whole, rest = divmod(loop.extent, self.by)

        def reduced(store: Store, value: Index, at: Loop) -> Store:
            new = store.substitute({loop.var: value})
            if not store.reduce:
                return new
            return replace(new, target=partial[store.target, store.index], index=(index_of(at.var),), guards=())

        statements = [s for s in nest.body if isinstance(s, Store)]
        reducing = list({(s.target, s.index): s for s in statements if s.reduce}.values())
        start = [
            replace(
                s,
                target=partial[s.target, s.index],
                index=(index_of(lane.var),),
                value=Const(neutral(str(s.reduce), s.target.dtype), s.target.dtype),
                reduce=None,
                guards=(),
            )
            for s in reducing
        ]
        body: list[Store | Nest] = [Nest((lane,), tuple(start))]
        outer = Loop(Var(f"{self.loop}.o", whole), "reduce")
        at = index_of(outer.var) * self.by + index_of(lane.var)
        body.append(Nest((*around, outer), (Nest((lane,), tuple(reduced(s, at, lane) for s in statements)),)))
        if rest:
            last = Loop(Var(f"{self.loop}.l", rest))
            at = index_of(last.var) + whole * self.by
            remainder = Nest((last,), tuple(reduced(s, at, last) for s in statements))
            body.append(Nest(around, (remainder,)) if around else remainder)
        across = Loop(lane.var, "reduce")
        final = [replace(s, value=Load(partial[s.target, s.index], (index_of(lane.var),)), guards=()) for s in reducing]
        body.append(Nest((across,), tuple(final)))
        return Nest((), tuple(body), tuple(partial.values()))


@dataclass(frozen=True)
class Subtotal(Pass):
    """for k: a op= x(k)   →   for k.s: {s = neutral; for k in the block: s op= x(k); a op= s}

    Blocks of `by` steps and a rest. The rounding error of a sequential sum grows with its length, that of a sum of
    subtotals with the length of its longest part. It comes after lanes and tiles, whose accumulators it keeps: nothing
    is added across lanes more often. Loops of that name with at most `by` steps stay as they are.
    """

    nest: str
    loop: str
    by: int

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        if self.by < 1:
            return no(f"`by` must be at least 1, got {self.by}", ir.name)
        if find_loop(ir, f"{self.loop}.s") is not None:
            return no(f"`{self.loop}` is in blocks already", ir.name)
        return next((v for v in (_subtotal_verdict(*one, ir.name) for one in _owners(ir, self.loop)) if not v), yes())

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._divide)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Subtotal]:
        """Loops of a reduction that are longer than a block."""
        for owner, position in ir.open_loops():
            subtotals = (cls(ir.name, owner.loops[position].name, by) for by in SUBTOTALS)
            if owner.loops[position].kind == "reduce":
                short = (one for one in subtotals if one.by < owner.loops[position].extent)
                yield from (one for one in short if one.check(ir.nest))

    def _divide(self, nest: Nest, position: int) -> Nest:
        loop = nest.loops[position]
        if loop.extent <= self.by:
            return nest
        whole, rest = divmod(loop.extent, self.by)
        made = [self._blocks(nest, position, 0, whole, self.by)]
        if rest:
            made.append(self._blocks(nest, position, whole * self.by, 1, rest))
        around = nest.loops[:position]
        if len(made) > 1:
            return replace(nest, loops=around, body=tuple(made), scratch=())
        return replace(nest, loops=(*around, *made[0].loops), body=made[0].body, scratch=made[0].scratch)

    def _blocks(self, nest: Nest, position: int, first: int, count: int, size: int) -> Nest:
        """Blocks of one size: each starts its own sums, and adds them up at its end."""
        loop = nest.loops[position]
        outer, inner = Var(f"{self.loop}.s", count), Var(self.loop, size)
        inside = replace(nest, loops=nest.loops[position + 1 :], name="", note="")
        inside = inside.substitute({loop.var: index_of(outer) * size + index_of(inner) + first})
        sums = {(s.target, s.index): (loops, s) for loops, s in _reducing(inside)}
        parts = {
            target: Buffer(f"{target.name}.{self.loop}", target.dtype, target.shape, "scratch") for target, _ in sums
        }
        start: list[Store | Nest] = []
        add: list[Store | Nest] = []
        for loops, s in sums.values():
            neither = Const(neutral(str(s.reduce), s.target.dtype), s.target.dtype)
            start.append(_under(loops, replace(s, target=parts[s.target], value=neither, reduce=None, guards=())))
            add.append(_under(loops, replace(s, value=Load(parts[s.target], s.index), guards=())))
        local = set(inside.all_scratch)

        def short(s: Store) -> Store:
            return replace(s, target=parts[s.target]) if s.reduce and s.target not in local else s

        summed = replace(inside.map_stores(short), loops=(replace(loop, var=inner), *inside.loops))
        return Nest((replace(loop, var=outer),), (*start, summed, *add), tuple(parts.values()))


def _owners(nest: Nest, name: str) -> Iterator[tuple[Nest, int]]:
    """Every (sub)nest that owns a loop of this name, and its position there."""
    yield from ((nest, position) for position, loop in enumerate(nest.loops) if loop.name == name)
    for item in nest.body:
        if isinstance(item, Nest):
            yield from _owners(item, name)


def _reducing(nest: Nest, around: tuple[Loop, ...] = ()) -> Iterator[tuple[tuple[Loop, ...], Store]]:
    """The statements that reduce into what outlives a nest, each with the loops of it that its place moves with."""
    local, loops = set(nest.scratch), (*around, *nest.loops)
    for item in nest.body:
        found = _reducing(item, loops) if isinstance(item, Nest) else [(loops, item)] if item.reduce else []
        for near, store in found:
            if store.target not in local:
                moved = frozenset[Var]().union(*(part.vars for part in store.index))
                yield tuple(loop for loop in near if loop.var in moved), store


def _under(loops: tuple[Loop, ...], store: Store) -> Store | Nest:
    return Nest(loops, (store,)) if loops else store


def _subtotal_verdict(nest: Nest, position: int, name: str) -> Verdict:
    loop, inside = nest.loops[position], replace(nest, loops=nest.loops[position + 1 :])
    if loop.kind != "reduce" or loop.mode != "serial":
        return no(f"`{loop.name}` must be a loop of a reduction that stays a loop", name)
    sums = list(_reducing(inside))
    if not sums:
        return no(f"nothing is reduced over `{loop.name}`", name)
    targets = {store.target for _, store in sums}
    if len({(store.target, store.reduce) for _, store in sums}) > len(targets):
        return no("one place is reduced in two ways", name)
    for loops, store in sums:
        free = frozenset[Var]().union(*(part.vars for part in store.index)) - {one.var for one in loops}
        if store.target.space != "scratch" or free or store.guards:
            return no(f"`{store}` has no place of its own inside `{loop.name}`", name)
    used = {load.buffer for store in inside.stores for load in store.loads}
    used |= {store.target for store in inside.stores if not store.reduce}
    if used & targets:
        return no("sums are read or start anew inside", name)
    return yes()
