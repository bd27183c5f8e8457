"""The few checked transformations of one nest's loops; `loops/passes/loop_modes.py` has those that say how a loop runs.

Each is a value that prints as text, says whether it applies and why not, and leaves the nest that it was given alone.
Loops are named; after a split with a tail two loops may share a name (one per piece), and later passes reach both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from strop.core.passes import Pass, Verdict, no, yes
from strop.core.values import changed
from strop.loops.analysis import fusable
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Load, Loop, Nest, Store
from strop.loops.passes.targeted import MOST_ROWS, MOST_VECTORS, STEPS, TargetedNest, is_open, nests_of
from strop.loops.rewriting import replace_loads

Change = Callable[[Nest, int], Nest]


def find_loop(nest: Nest, name: str) -> tuple[Nest, int] | None:
    """The first (sub)nest that owns the loop, and its position there."""
    for position, loop in enumerate(nest.loops):
        if loop.name == name:
            return nest, position
    for item in nest.body:
        if isinstance(item, Nest):
            found = find_loop(item, name)
            if found is not None:
                return found
    return None


def change_loop(nest: Nest, name: str, change: Change) -> Nest:
    """Rebuild every (sub)nest that owns a loop of this name."""
    body = tuple(change_loop(i, name, change) if isinstance(i, Nest) else i for i in nest.body)
    nest = changed(nest, body=body)
    for position, loop in enumerate(nest.loops):
        if loop.name == name:
            return change(nest, position)
    return nest


def exists(nest: Nest, *names: str) -> Verdict:
    """Whether a nest has all of these loops."""
    for name in names:
        if find_loop(nest, name) is None:
            known = ", ".join(dict.fromkeys(loop.name for loop in nest.all_loops))
            return no(f"there is no loop `{name}`; the loops are {known}", nest.name)
    return yes()


def pieces(extent: int, by: int) -> list[tuple[int, int]]:
    """Cover an extent with tiles of at most `by`, as equal as possible: 14 by 6 is two of 5 and one of 4."""
    count = -(-extent // by)
    size, larger = divmod(extent, count)
    return [(n, s) for n, s in ((larger, size + 1), (count - larger, size)) if n]


@dataclass(frozen=True)
class Split(Pass):
    """for i in 0..N: S(i)   →   for i.o in 0..N/by: for i.i in 0..by: S(i.o·by + i.i)

    Where `by` does not divide N there are two pieces: tail="balanced" makes tiles of nearly equal size, tail="rest"
    full tiles and one rest.
    """

    nest: str
    loop: str
    by: int
    tail: str = "balanced"

    def check(self, ir: Nest) -> Verdict:
        if self.by < 1:
            return no(f"`by` must be at least 1, got {self.by}", ir.name)
        if self.tail not in ("balanced", "rest"):
            return no(f"tail must be `balanced` or `rest`, got `{self.tail}`", ir.name)
        if any(loop.until for loop in ir.all_loops if loop.name == self.loop):
            return no("a loop that ends early is not divided: only one of two would end", ir.name)
        return exists(ir, self.loop)

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._split)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Split]:
        """Rows of a register tile (`balanced`), whole vectors (`rest`), a few steps of a reduction (`rest`)."""
        for owner, position in ir.open_loops():
            loop = owner.loops[position]
            if loop.kind == "reduce":
                yield from (cls(ir.name, loop.name, by, "rest") for by in STEPS if by < 2 * loop.extent)
                continue
            yield from (cls(ir.name, loop.name, by) for by in range(2, min(MOST_ROWS, loop.extent) + 1))
            widths = (count * ir.lanes for count in range(1, MOST_VECTORS + 1))
            yield from (cls(ir.name, loop.name, by, "rest") for by in widths if by < loop.extent + ir.lanes)

    def _split(self, nest: Nest, position: int) -> Nest:
        loop = nest.loops[position]
        extent = loop.extent
        if self.tail == "balanced":
            parts = pieces(extent, self.by)
        else:
            parts = [(n, s) for n, s in ((extent // self.by, self.by), (1, extent % self.by)) if n and s]
        if len(parts) == 1:
            return self._piece(nest, position, 0, *parts[0])
        around, inside = nest.loops[:position], changed(nest, loops=nest.loops[position:])
        first = 0
        made = []
        for count, size in parts:
            made.append(changed(self._piece(inside, 0, first, count, size), name="", note=""))
            first += count * size
        return changed(nest, loops=around, body=tuple(made), scratch=())

    def _piece(self, nest: Nest, position: int, first: int, count: int, size: int) -> Nest:
        loop = nest.loops[position]
        outer, inner = Var(f"{self.loop}.o", count), Var(f"{self.loop}.i", size)
        value = index_of(outer) * size + index_of(inner) + first
        loops = (
            *nest.loops[:position],
            changed(loop, var=outer),
            changed(loop, var=inner),
            *nest.loops[position + 1 :],
        )
        return changed(nest.substitute({loop.var: value}), loops=loops)


@dataclass(frozen=True)
class Reorder(Pass):
    """for i: for j: S   →   for j: for i: S   (the named loops of one nest, in the given order)"""

    nest: str
    order: tuple[str, ...]

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, *self.order) if self.order else no("no loops are named", ir.name)
        if not found:
            return found
        if len(set(self.order)) != len(self.order):
            return no("a loop is named twice", ir.name)
        owner, _ = find_loop(ir, self.order[0]) or (ir, 0)
        names = [loop.name for loop in owner.loops]
        missing = [name for name in self.order if name not in names]
        if missing:
            return no(f"`{missing[0]}` and `{self.order[0]}` are not loops of the same nest", ir.name)
        kinds = {loop.name: loop.kind for loop in owner.loops}
        if any(kinds[name] == "sequential" for name in self.order):
            return no("a sequential loop keeps its place", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.order[0], self._reorder)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Reorder]:
        """Neighbours that change places; loops that run once are in nobody's way."""
        for owner in nests_of(ir.nest):
            for outer, inner in pairwise(loop for loop in owner.loops if loop.extent > 1):
                if is_open(outer) and is_open(inner) and (one := cls(ir.name, (inner.name, outer.name))).check(ir.nest):
                    yield one

    def _reorder(self, nest: Nest, position: int) -> Nest:
        by_name = {loop.name: loop for loop in nest.loops}
        queue = [by_name[name] for name in self.order if name in by_name]
        names = set(self.order)
        return changed(nest, loops=tuple(queue.pop(0) if loop.name in names else loop for loop in nest.loops))


@dataclass(frozen=True)
class Fuse(Pass):
    """for i in 0..N: for j in 0..M: S(i, j)   →   for i in 0..N·M: S(i÷M, i mod M)"""

    nest: str
    outer: str
    inner: str

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.outer, self.inner)
        if not found:
            return found
        owner, position = find_loop(ir, self.outer) or (ir, 0)
        if position + 1 >= len(owner.loops) or owner.loops[position + 1].name != self.inner:
            return no(f"`{self.inner}` is not directly inside `{self.outer}`", ir.name)
        if owner.loops[position].kind != owner.loops[position + 1].kind:
            return no("the loops are of different kinds", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.outer, self._fuse)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Fuse]:
        """Neighbours that every access steps through as one."""
        for owner in nests_of(ir.nest):
            for outer, inner in pairwise(owner.loops):
                one = cls(ir.name, outer.name, inner.name)
                if is_open(outer) and is_open(inner) and fusable(owner, outer, inner) and one.check(ir.nest):
                    yield one

    def _fuse(self, nest: Nest, position: int) -> Nest:
        outer, inner = nest.loops[position : position + 2]
        whole = Var(self.outer, outer.extent * inner.extent)
        value = index_of(whole)
        new = nest.substitute({outer.var: value // inner.extent, inner.var: value % inner.extent})
        loops = (*nest.loops[:position], Loop(whole, outer.kind, outer.mode), *nest.loops[position + 2 :])
        return changed(new, loops=loops)


@dataclass(frozen=True)
class Sink(Pass):
    """for i: {a = 0; for k: a += x(i, k); y(i) = a}  →  {for i: a[i] = 0; for k: for i: a[i] += …; for i: y(i) = a[i]}

    Moves the innermost loops of a nest into its body, around each statement. Scratch gets a dimension per loop. With
    the loops unrolled or vectorised this is a register tile.
    """

    nest: str
    loops: tuple[str, ...]
    around: tuple[str, ...] = ()  # inner nests, by their first loop, that the loops go around instead of into

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, *self.loops) if self.loops else no("no loops are named", ir.name)
        if not found:
            return found
        for owner in (one for one in nests_of(ir) if any(loop.name == self.loops[0] for loop in one.loops)):
            names = tuple(loop.name for loop in owner.loops[-len(self.loops) :])
            if set(names) != set(self.loops):
                return no(f"only the innermost loops ({', '.join(names)}) can sink", ir.name)
            if any(loop.kind != "parallel" for loop in owner.loops[-len(self.loops) :]):
                return no("only parallel loops can sink: their points do not depend on each other", ir.name)
            if any(loop.until for loop in owner.all_loops):
                return no("a loop inside ends early, for each of their points by itself", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loops[0], self._sink)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Sink]:
        """The innermost loop, or the innermost two in either order, around the parts of a nest."""
        for owner in nests_of(ir.nest):
            names = tuple(loop.name for loop in owner.loops[-2:])
            if any(isinstance(item, Nest) for item in owner.body):
                sinks = (cls(ir.name, loops) for loops in dict.fromkeys((names[-1:], names, names[::-1])) if loops)
                yield from (one for one in sinks if one.check(ir.nest))

    def _sink(self, nest: Nest, position: int) -> Nest:
        count = len(self.loops)
        by_name = {loop.name: loop for loop in nest.loops[-count:]}
        sunk = tuple(by_name[name] for name in self.loops)
        # rows first, a vector dimension last, so that vectors are contiguous where scratch is memory
        rows = tuple(loop for loop in sunk if loop.mode != "vector")
        lanes = tuple(loop for loop in sunk if loop.mode == "vector")
        before, after = (tuple(index_of(loop.var) for loop in part) for part in (rows, lanes))
        grown: dict[Buffer, Buffer] = {}
        for old in nest.all_scratch:
            shape = (*(loop.extent for loop in rows), *old.shape, *(loop.extent for loop in lanes))
            grown[old] = Buffer(old.name, old.dtype, shape, "scratch")
        body = _sink_into(nest.body, sunk, self.around)
        made = _grow(changed(nest, loops=nest.loops[:-count], body=body), grown)
        return made.map_stores(lambda store: _expand_scratch(store, grown, before, after))


def _grow(nest: Nest, grown: dict[Buffer, Buffer]) -> Nest:
    """The nest with the scratch that it and its inner nests declare replaced."""
    body = tuple(_grow(item, grown) if isinstance(item, Nest) else item for item in nest.body)
    return changed(nest, body=body, scratch=tuple(grown.get(s, s) for s in nest.scratch))


def _expand_scratch(
    store: Store, grown: dict[Buffer, Buffer], before: tuple[Index, ...], after: tuple[Index, ...]
) -> Store:
    def expand(load: Load) -> Load:
        new = grown.get(load.buffer)
        return load if new is None else changed(load, buffer=new, index=(*before, *load.index, *after))

    value = replace_loads(store.value, expand)
    target = grown.get(store.target)
    if target is None:
        return store if value is store.value else changed(store, value=value)
    return changed(store, target=target, index=(*before, *store.index, *after), value=value)


def _sink_into(
    body: tuple[Store | Nest, ...], loops: tuple[Loop, ...], around: tuple[str, ...]
) -> tuple[Store | Nest, ...]:
    """Loops around each run of statements (and of nests named in `around`), innermost in every other nest."""
    made: list[Store | Nest] = []
    run: list[Store | Nest] = []

    def close() -> None:
        if run:
            plain = all(isinstance(item, Store) for item in run)
            made.append(Nest(loops if plain else tuple(changed(loop, mode="serial") for loop in loops), tuple(run)))
            run.clear()

    for item in body:
        if isinstance(item, Store) or (item.loops and item.loops[0].name in around):
            run.append(item)
        else:
            close()
            made.append(changed(item, body=_sink_into(item.body, loops, around)))
    close()
    return tuple(made)


@dataclass(frozen=True)
class Serpentine(Pass):
    """for t: for j: S(t, j)   →   for t in pairs: {for j: S(t, j); for j: S(t+1, last - j)}

    Every second iteration of an outer loop walks an inner parallel loop backwards, and with `sums` those inside it, so
    that what was read last is read again first: a panel that does not quite fit a cache is found there for the most
    part.
    """

    nest: str
    loop: str
    inner: str
    sums: bool = True

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop, self.inner)
        if not found:
            return found
        owner, position = find_loop(ir, self.loop) or (ir, 0)
        if position != len(owner.loops) - 1 or owner.loops[position].extent < 2:
            return no(f"`{self.loop}` must be the innermost loop of its nest and run at least twice", ir.name)
        inside = [loop for item in owner.body if isinstance(item, Nest) for loop in item.all_loops]
        walked = [loop for loop in inside if loop.name == self.inner]
        if not walked or any(loop.kind != "parallel" for loop in walked):
            return no(f"`{self.inner}` must be a parallel loop inside `{self.loop}`", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._alternate)

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Serpentine]:
        """The outermost parallel loop of what is inside each loop."""
        for owner, position in ir.open_loops():
            inside = (item for item in owner.body if isinstance(item, Nest))
            walked = next((loop for item in inside for loop in item.loops if is_open(loop)), None)
            if walked is not None and (one := cls(ir.name, owner.loops[position].name, walked.name)).check(ir.nest):
                yield one

    def _alternate(self, nest: Nest, position: int) -> Nest:
        loop = nest.loops[position]
        pairs = Var(f"{self.loop}.o", loop.extent // 2)
        step = index_of(pairs) * 2
        forward = nest.substitute({loop.var: step}).body
        backward = tuple(self._reversed(item) for item in nest.substitute({loop.var: step + 1}).body)
        halves = Nest((changed(loop, var=pairs),), (*forward, *backward), nest.scratch)
        if loop.extent % 2 == 0:
            return changed(
                halves,
                loops=(*nest.loops[:position], *halves.loops),
                name=nest.name,
                origin=nest.origin,
                note=nest.note,
            )
        last = Nest((), nest.substitute({loop.var: index_of(loop.extent - 1)}).body, nest.scratch)
        return changed(nest, loops=nest.loops[:position], body=(halves, last), scratch=())

    def _reversed(self, item: Store | Nest) -> Store | Nest:
        if isinstance(item, Store):
            return item
        walked = any(loop.name == self.inner for loop in item.loops)
        turned = [loop.var for loop in item.loops if loop.name == self.inner]
        if walked and self.sums:
            turned += [loop.var for loop in item.all_loops if loop.kind == "reduce" and loop.mode == "serial"]
        body = item.body if walked else tuple(self._reversed(i) for i in item.body)
        return changed(item, body=body).substitute({var: index_of(var) * -1 + (var.extent - 1) for var in turned})


@dataclass(frozen=True)
class Reset(Pass):
    """the schedule that was chosen for a nest   →   none: what follows is all that is done to it"""

    nest: str

    def check(self, ir: Nest) -> Verdict:
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return ir

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Reset]:
        yield cls(ir.name)


def schedule(nest: Nest, passes: list[Pass]) -> Nest:
    """Apply passes in order; a refusal is raised as a Problem that names the pass."""
    for one in passes:
        nest = one(nest)
    return nest
