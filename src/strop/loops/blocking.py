"""Blocking of reductions: a part of the sum for every point, then the next part, so that operands stay in a cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Load, Loop, Nest, Store, neutral, replace_loads
from strop.loops.primitives import pieces


@dataclass(frozen=True)
class Block(Pass):
    """for i: {a = 0; for k: a += f(i, k); y(i) = a}
    →  {for i: s[i] = 0; for k.b: for i: {a = 0; for k in the block: a += f(i, k); s[i] += a}; for i: y(i) = s[i]}

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
        return yes()

    def apply(self, ir: Nest) -> Nest:
        reduce = next(item for item in ir.body if isinstance(item, Nest))
        at = ir.body.index(reduce)
        summed = {store.target: store.reduce for store in reduce.stores}
        outside, inside = ir.loops[: -len(self.inside)], ir.loops[-len(self.inside) :]
        shape = tuple(loop.extent for loop in inside)
        place = tuple(index_of(loop.var) for loop in inside)
        kept = {b: Buffer(f"{b.name}.sum", b.dtype, shape, "scratch") for b in summed}
        parts: list[Store | Nest] = []
        start = tuple(Store(kept[b], place, Const(neutral(str(how), b.dtype), b.dtype)) for b, how in summed.items())
        parts.append(Nest(inside, start))
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
        before = ir.body[: ir.body.index(reduce)]
        place = tuple(index_of(loop.var) for loop in inside)
        sums = {store.target: store.reduce for store in reduce.stores}
        add = tuple(Store(kept[b], place, Load(b, ()), how) for b, how in sums.items())
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
