"""The schedules of a nest: every way to write its loops with the primitives, drawn one at a time.

Nothing is left out because it is slow: vectors may lie along any loop or none, tiles may spill, loops may run in any
order. What bounds the space is only what can be compiled in reasonable time. A draw is a list of passes that a person
could have written; each of them is checked as it is applied, and a draw that a check refuses is drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.loops.analysis import Contraction, contraction, fusable
from strop.loops.ir import CONSTANT, Loop, Nest
from strop.loops.passes.blocking import Block, RFactor
from strop.loops.passes.loop_modes import Unroll, Vectorise, ready
from strop.loops.passes.packing import Pack
from strop.loops.passes.primitives import Fuse, Reorder, Sink, Split, find_loop
from strop.target.description import Target

MOST_COPIES = 256  # of one statement, after unrolling: more takes LLVM seconds to compile
MOST_ROWS, MOST_VECTORS = 14, 8
ATTEMPTS = 200  # draws in a row that checks may refuse before a nest counts as having no schedule


@dataclass(frozen=True)
class Schedule:
    """One draw: its passes, the nest that they make, and the nests that fill its packed operands."""

    passes: tuple[Pass, ...]
    nest: Nest
    copies: tuple[Nest, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.passes)) or "as it is"


def sample(nest: Nest, target: Target, count: int, seed: int) -> list[Schedule]:
    """Different schedules, each drawn uniformly from the choices that the primitives leave; fewer where there are."""
    rng = random.Random(seed)
    found: dict[Nest, Schedule] = {}
    missed = 0
    while len(found) < count and missed < ATTEMPTS:
        drawn = draw(nest, target, rng)
        missed = missed + 1 if drawn is None or drawn.nest in found else 0
        if drawn is not None:
            found.setdefault(drawn.nest, drawn)
    return list(found.values())


def draw(nest: Nest, target: Target, rng: random.Random) -> Schedule | None:
    """One schedule; None where this draw came to something that a check refuses or that is too long to compile."""
    one = _Draw(nest, target, rng)
    try:
        one.make()
    except Problem:
        return None
    if not ready(one.nest) or copies(one.nest, target) > MOST_COPIES:
        return None
    return Schedule(tuple(one.passes), one.nest, tuple(one.copies))


def copies(nest: Nest, target: Target) -> int:
    """How often the most repeated statement of a nest is written out."""
    lanes = target.lanes("f32")
    own = prod(
        loop.extent if loop.mode == "unroll" else -(-loop.extent // lanes) if loop.mode == "vector" else 1
        for loop in nest.loops
    )
    return own * max((copies(item, target) for item in nest.body if isinstance(item, Nest)), default=1)


@dataclass
class _Draw:
    nest: Nest
    target: Target
    rng: random.Random
    passes: list[Pass] = field(default_factory=list)
    copies: list[Nest] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.nest.name

    def do(self, one: Pass) -> None:
        made = one(self.nest)
        if isinstance(one, Pack) and not one.at:
            self.copies.append(one.copy(self.nest))
        self.nest = made
        self.passes.append(one)

    def sometimes(self, chance: float) -> bool:
        return self.rng.random() < chance

    def lanes(self, dtype: str) -> int:
        return self.target.lanes("f64" if dtype in ("f64", "i64") else "f32")

    def make(self) -> None:
        nest = self.nest
        if not nest.loops and not any(isinstance(item, Nest) for item in nest.body):
            return
        if any(loop.kind == "sequential" for loop in nest.all_loops):
            self._passes(nest)
            return
        found = contraction(nest)
        if found is not None and nest.iterations:
            self._contraction(found)
        elif not any(isinstance(item, Nest) for item in nest.body):
            self._plain()
        else:
            self._rows()

    # ---- contractions ----

    def _contraction(self, found: Contraction) -> None:
        self._ones_first()
        self._fuse()
        found = contraction(self.nest) or found
        lanes = self.lanes(found.inner.stores[0].target.dtype)
        self._order(self._shuffled(found.inner.loops))
        found = contraction(self.nest) or found
        loops = [loop for loop in self.nest.loops if loop.extent > 1]
        along: Loop | None = self.rng.choice([None, *loops])
        width = self.rng.randint(1, MOST_VECTORS) * lanes
        across = along is None and self.sometimes(0.5)  # lanes along the reduction itself
        others = self.rng.sample([loop for loop in loops if loop is not along], len(loops) - (along is not None))
        tile = {loop.name: size for loop, size in zip(others, self._rows_of_tile())}
        if along is not None:
            self._pack(found, along, width)
        tiled = [*tile, *([along.name] if along is not None else [])]
        outer = self._block(found, tiled)
        reduction = [loop.name for loop in found.inner.loops if loop.extent > 1]
        across = across and bool(reduction) and self._lanes_of_reduction(reduction[-1], lanes)
        if along is not None:
            tile[along.name] = width
        parts = self._tile(outer, tile, along.name if along is not None else None)
        if parts:
            self.do(Sink(self.name, tuple(self.rng.sample(parts, len(parts)))))
        self._unroll_reduction(reduction[:-1] if across else reduction, around=across)

    def _rows_of_tile(self) -> tuple[int, ...]:
        """Points of one loop, or of two, that are computed together."""
        first = self.rng.randint(1, MOST_ROWS)
        return (first, self.rng.randint(2, 4)) if self.sometimes(0.2) else (first,) if first > 1 else ()

    def _pack(self, found: Contraction, along: Loop, width: int) -> None:
        """Operands that the vectors run along, copied in the order of reading, or left as they are."""
        for load in found.operands:
            if load.guards or load.buffer.space not in CONSTANT or along.var not in load.vars or self.sometimes(0.4):
                continue
            near = [loop for loop in (*self.nest.loops, *self._inner_loops()) if loop.var in load.vars]
            order = tuple(loop.name for loop in near if loop.name != along.name and loop.extent > 1)
            pack = Pack(self.name, load.buffer.name, along.name, width, order)
            if pack.check(self.nest):
                self.do(pack)

    def _inner_loops(self) -> tuple[Loop, ...]:
        return next((item.loops for item in self.nest.body if isinstance(item, Nest)), ())

    def _block(self, found: Contraction, tiled: list[str]) -> list[Loop]:
        """Sometimes the reduction in blocks; the loops that are left to be ordered."""
        long = [loop for loop in found.inner.loops if loop.extent >= 8]
        loops = [loop for loop in self.nest.loops if loop.extent > 1]
        if not long or not loops or self.sometimes(0.7):
            return loops
        free = [loop for loop in loops if loop.name not in tiled]
        outside = self.rng.sample(free, self.rng.randint(0, len(free)))
        rest = self._shuffled([loop for loop in loops if loop not in outside])
        if not rest:
            return loops
        self._order([*(loop for loop in self.nest.loops if loop.extent == 1), *outside, *rest])
        loop = self.rng.choice(long)
        by = self.rng.choice([size for size in (4, 8, 16, 32, 64, 128, 256, 512) if size < loop.extent])
        self.do(Block(self.name, loop.name, by, tuple(one.name for one in rest)))
        return rest

    def _lanes_of_reduction(self, name: str, lanes: int) -> bool:
        found = find_loop(self.nest, name)
        if found is None or found[0].loops[found[1]].extent < lanes:
            return False
        most = min(MOST_VECTORS, found[0].loops[found[1]].extent // lanes)
        one = RFactor(self.name, name, self.rng.randint(1, most) * lanes)
        if not one.check(self.nest):
            return False
        self.do(one)
        self.do(Vectorise(self.name, f"{name}.l"))
        return True

    def _unroll_reduction(self, names: list[str], around: bool) -> None:
        """Some steps of the innermost loops of a reduction written out."""
        if around and names:
            names = names[-1:]
        for name in reversed(names):
            found = find_loop(self.nest, name)
            if found is None or self.sometimes(0.4):
                return
            extent = found[0].loops[found[1]].extent
            if extent <= 8 and self.sometimes(0.5):
                self.do(Unroll(self.name, name))
                continue
            by = self.rng.choice([2, 3, 4, 8])
            if by < extent:
                self.do(Split(self.name, name, by, tail="rest"))
                self.do(Unroll(self.name, f"{name}.i"))
            return

    # ---- orders and tiles ----

    def _fuse(self) -> None:
        """Neighbouring loops that every access steps through as one, each pair fused or not."""
        position = len(self.nest.loops) - 2
        while position >= 0:
            outer, inner = self.nest.loops[position : position + 2]
            if fusable(self.nest, outer, inner) and self.sometimes(0.6):
                self.do(Fuse(self.name, outer.name, inner.name))
            position -= 1

    def _order(self, loops: Sequence[Loop]) -> None:
        names = [loop.name for loop in loops]
        if len(names) < 2:
            return
        owner, _ = find_loop(self.nest, names[0]) or (self.nest, 0)
        if [loop.name for loop in owner.loops if loop.name in names] != names:
            self.do(Reorder(self.name, tuple(names)))

    def _shuffled(self, loops: Sequence[Loop]) -> list[Loop]:
        return self.rng.sample(list(loops), len(loops))

    def _ones_first(self) -> None:
        """Loops of one iteration go outermost, where they are in nobody's way."""
        self._order(sorted(self.nest.loops, key=lambda loop: loop.extent > 1))

    def _tile(self, loops: list[Loop], tile: dict[str, int], along: str | None) -> list[str]:
        """Outer parts in a random order, some split once more for a cache, then the parts of the tile; their names.

        A loop is split when everything outside of it is in its place: a split with a tail makes two nests of what is
        inside, and no loop can leave them.
        """
        sequence: list[tuple[str, int]] = []
        for loop in loops:
            whole = loop.extent <= tile.get(loop.name, 1)
            if whole:
                continue
            cut = -(-loop.extent // tile.get(loop.name, 1)) >= 4 and self.sometimes(0.25)
            sequence.append((loop.name, self._cache_part(loop, tile.get(loop.name, 1)) if cut else 0))
        sequence = self.rng.sample(sequence, len(sequence))
        order = [name for name, _ in sequence]
        for name in [name for name, size in sequence if size]:
            order.insert(self.rng.randint(order.index(name) + 1, len(order)), f"{name}.i")
        cuts = dict(sequence)
        rank = {name: i for i, name in enumerate(dict.fromkeys(order))}
        inner = [loop.name for loop in loops if loop.name in tile]
        self._arrange([loop.name for loop in loops], rank)
        parts: list[str] = [name for name in inner if name not in rank]
        for name in order:
            base = name.removesuffix(".i") if name not in cuts else name
            if cuts.get(name):
                self.do(Split(self.name, name, cuts[name]))
                rank = {**rank, f"{name}.o": rank[name]}
            elif base in tile:
                tail = "rest" if base == along else self.rng.choice(["balanced", "rest"])
                self.do(Split(self.name, name, tile[base], tail=tail))
                rank = {**rank, f"{name}.o": rank[name]}
                parts.append(f"{name}.i")
            else:
                continue
            owner, position = find_loop(self.nest, f"{name}.o") or (self.nest, 0)
            self._arrange([loop.name for loop in owner.loops[position:]], rank)
        self._mark(parts, along)
        return parts

    def _cache_part(self, loop: Loop, tile: int) -> int:
        """A multiple of the tile between two tiles and half of the loop."""
        most = max(2, loop.extent // tile // 2)
        return tile * self.rng.randint(2, most)

    def _arrange(self, present: list[str], rank: dict[str, int]) -> None:
        last = len(rank)
        wanted = sorted(present, key=lambda name: rank.get(name, last))
        if wanted != present and len(present) > 1:
            self.do(Reorder(self.name, tuple(wanted)))

    def _mark(self, parts: list[str], along: str | None) -> None:
        for part in parts:
            lane = along is not None and (part == along or part.startswith(f"{along}.i"))
            self.do(Vectorise(self.name, part) if lane else Unroll(self.name, part))

    # ---- plain statements ----

    def _plain(self) -> None:
        if any(loop.kind != "parallel" for loop in self.nest.loops):
            return
        self._ones_first()
        self._fuse()
        lanes = self.target.lanes("f32")
        loops = [loop for loop in self.nest.loops if loop.extent > 1]
        if not loops:
            return
        along: Loop | None = self.rng.choice([None, *loops])
        others = [loop for loop in loops if loop is not along]
        tile: dict[str, int] = {}
        if others and self.sometimes(0.5):
            tile[self.rng.choice(others).name] = self.rng.randint(2, 8)
        if along is not None:
            tile[along.name] = self.rng.randint(1, MOST_VECTORS) * lanes
        parts = self._tile(loops, tile, along.name if along is not None else None)
        if self.nest.scratch and parts:
            self.do(Sink(self.name, tuple(parts)))
            return
        self._arrange_parts(parts)

    def _arrange_parts(self, parts: list[str]) -> None:
        if len(parts) < 2 or self.sometimes(0.5):
            return
        owner = find_loop(self.nest, parts[0])
        names = [loop.name for loop in owner[0].loops] if owner else []
        if set(parts) <= set(names):
            self.do(Reorder(self.name, tuple(reversed([name for name in names if name in parts]))))

    # ---- several passes ----

    def _rows(self) -> None:
        nest = self.nest
        parallel = [loop for loop in nest.loops if loop.kind == "parallel" and loop.extent > 1]
        if len(parallel) > 1 and self.sometimes(0.5):
            self._order(self._shuffled(parallel))
        lanes = self.target.lanes("f32")
        if parallel and self.sometimes(0.25):
            loop = self.rng.choice(parallel)
            parts = self._tile(parallel, {loop.name: lanes * self.rng.randint(1, 2)}, loop.name)
            self.do(Sink(self.name, tuple(parts)))
            return
        self._passes(nest)

    def _passes(self, nest: Nest) -> None:
        for item in nest.body:
            if not isinstance(item, Nest):
                continue
            if any(isinstance(inner, Nest) for inner in item.body):
                self._passes(item)
            elif item.loops:
                self._pass(item)

    def _pass(self, owner: Nest) -> None:
        """One pass over a row: lanes, a few steps written out, or step by step."""
        loop = owner.loops[-1]
        if loop.kind == "sequential" or loop.extent < 2:
            return
        lanes, how = self.target.lanes("f32"), self.rng.randint(0, 3)
        width = lanes * self.rng.randint(1, MOST_VECTORS)
        if how == 0:
            by = self.rng.randint(2, 8)
            if by < loop.extent:
                self.do(Split(self.name, loop.name, by, tail="rest"))
                self.do(Unroll(self.name, f"{loop.name}.i"))
        elif how > 1 and loop.kind == "reduce" and loop.extent >= lanes:
            one = RFactor(self.name, loop.name, min(width, loop.extent // lanes * lanes))
            if one.check(self.nest):
                self.do(one)
                self.do(Vectorise(self.name, f"{loop.name}.l"))
        elif how > 1 and loop.kind == "parallel":
            name = loop.name
            if loop.extent > width:
                self.do(Split(self.name, name, width, tail="rest"))
                name = f"{name}.i"
            self.do(Vectorise(self.name, name))
            if owner.scratch:
                self.do(Sink(self.name, (name,)))
