"""The few checked transformations of one nest; every schedule is a list of these.

Each is a value that prints as text, says whether it applies and why not, and leaves the nest that it was given alone.
Loops are named; after a split with a tail two loops may share a name (one per piece), and later passes reach both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Guard, Load, Loop, Nest, Store, loads, neutral, replace_loads

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
    nest = replace(nest, body=body)
    for position, loop in enumerate(nest.loops):
        if loop.name == name:
            return change(nest, position)
    return nest


def _exists(nest: Nest, *names: str) -> Verdict:
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
        return _exists(ir, self.loop)

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loop, self._split)

    def _split(self, nest: Nest, position: int) -> Nest:
        loop = nest.loops[position]
        extent = loop.extent
        if self.tail == "balanced":
            parts = pieces(extent, self.by)
        else:
            parts = [(n, s) for n, s in ((extent // self.by, self.by), (1, extent % self.by)) if n and s]
        if len(parts) == 1:
            return self._piece(nest, position, 0, *parts[0])
        around, inside = nest.loops[:position], replace(nest, loops=nest.loops[position:])
        first = 0
        made = []
        for count, size in parts:
            made.append(replace(self._piece(inside, 0, first, count, size), name="", note=""))
            first += count * size
        return replace(nest, loops=around, body=tuple(made), scratch=())

    def _piece(self, nest: Nest, position: int, first: int, count: int, size: int) -> Nest:
        loop = nest.loops[position]
        outer, inner = Var(f"{self.loop}.o", count), Var(f"{self.loop}.i", size)
        value = index_of(outer) * size + index_of(inner) + first
        loops = (
            *nest.loops[:position],
            replace(loop, var=outer),
            replace(loop, var=inner),
            *nest.loops[position + 1 :],
        )
        return replace(nest.substitute({loop.var: value}), loops=loops)


@dataclass(frozen=True)
class Reorder(Pass):
    """for i: for j: S   →   for j: for i: S   (the named loops of one nest, in the given order)"""

    nest: str
    order: tuple[str, ...]

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, *self.order)
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

    def _reorder(self, nest: Nest, position: int) -> Nest:
        by_name = {loop.name: loop for loop in nest.loops}
        queue = [by_name[name] for name in self.order if name in by_name]
        names = set(self.order)
        return replace(nest, loops=tuple(queue.pop(0) if loop.name in names else loop for loop in nest.loops))


@dataclass(frozen=True)
class Fuse(Pass):
    """for i in 0..N: for j in 0..M: S(i, j)   →   for i in 0..N·M: S(i÷M, i mod M)"""

    nest: str
    outer: str
    inner: str

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.outer, self.inner)
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

    def _fuse(self, nest: Nest, position: int) -> Nest:
        outer, inner = nest.loops[position : position + 2]
        whole = Var(self.outer, outer.extent * inner.extent)
        value = index_of(whole)
        new = nest.substitute({outer.var: value // inner.extent, inner.var: value % inner.extent})
        loops = (*nest.loops[:position], Loop(whole, outer.kind, outer.mode), *nest.loops[position + 2 :])
        return replace(new, loops=loops)


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
        found = _exists(ir, *self.loops)
        if not found:
            return found
        owner, _ = find_loop(ir, self.loops[0]) or (ir, 0)
        names = tuple(loop.name for loop in owner.loops[-len(self.loops) :])
        if set(names) != set(self.loops):
            return no(f"only the innermost loops ({', '.join(names)}) can sink", ir.name)
        if any(loop.kind != "parallel" for loop in owner.loops[-len(self.loops) :]):
            return no("only parallel loops can sink: their points do not depend on each other", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return change_loop(ir, self.loops[0], self._sink)

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
        made = _grow(replace(nest, loops=nest.loops[:-count], body=body), grown)
        return made.map_stores(lambda store: _expand_scratch(store, grown, before, after))


def _grow(nest: Nest, grown: dict[Buffer, Buffer]) -> Nest:
    """The nest with the scratch that it and its inner nests declare replaced."""
    body = tuple(_grow(item, grown) if isinstance(item, Nest) else item for item in nest.body)
    return replace(nest, body=body, scratch=tuple(grown.get(s, s) for s in nest.scratch))


def _expand_scratch(
    store: Store, grown: dict[Buffer, Buffer], before: tuple[Index, ...], after: tuple[Index, ...]
) -> Store:
    def expand(load: Load) -> Load:
        new = grown.get(load.buffer)
        return load if new is None else replace(load, buffer=new, index=(*before, *load.index, *after))

    value = replace_loads(store.value, expand)
    target = grown.get(store.target)
    if target is None:
        return store if value is store.value else replace(store, value=value)
    return replace(store, target=target, index=(*before, *store.index, *after), value=value)


def _sink_into(
    body: tuple[Store | Nest, ...], loops: tuple[Loop, ...], around: tuple[str, ...]
) -> tuple[Store | Nest, ...]:
    """Loops around each run of statements (and of nests named in `around`), innermost in every other nest."""
    made: list[Store | Nest] = []
    run: list[Store | Nest] = []

    def close() -> None:
        if run:
            plain = all(isinstance(item, Store) for item in run)
            made.append(Nest(loops if plain else tuple(replace(loop, mode="serial") for loop in loops), tuple(run)))
            run.clear()

    for item in body:
        if isinstance(item, Store) or (item.loops and item.loops[0].name in around):
            run.append(item)
        else:
            close()
            made.append(replace(item, body=_sink_into(item.body, loops, around)))
    close()
    return tuple(made)


@dataclass(frozen=True)
class Lanes(Pass):
    """for k: a op= x(k)   →   {v[l] = neutral; for k.o: for l: v[l] op= x(k.o·by + l); for l: a op= v[l]}

    Gives a reduction `by` independent accumulators, so that it can be vectorised along its own axis.
    """

    nest: str
    loop: str
    by: int

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.loop)
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
            return Store(partial[store.target, store.index], (index_of(at.var),), new.value, store.reduce)

        statements = [s for s in nest.body if isinstance(s, Store)]
        reducing = [s for s in statements if s.reduce]
        start = [
            Store(
                partial[s.target, s.index],
                (index_of(lane.var),),
                Const(neutral(str(s.reduce), s.target.dtype), s.target.dtype),
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
        final = [
            Store(s.target, s.index, Load(partial[s.target, s.index], (index_of(lane.var),)), s.reduce)
            for s in reducing
        ]
        body.append(Nest((across,), tuple(final)))
        return Nest((), tuple(body), tuple(partial.values()))


def _neutral(store: Store) -> Const:
    return Const(neutral(str(store.reduce), store.target.dtype), store.target.dtype)


def _paths(nest: Nest, name: str, around: tuple[str, ...] = ()) -> list[tuple[Nest, tuple[str, ...]]]:
    """Every (sub)nest that owns a loop of this name, with the names of the loops around what is inside of it."""
    names = tuple(loop.name for loop in nest.loops)
    if name in names:
        return [(nest, (*around, *names[: names.index(name) + 1]))]
    return [found for item in nest.body if isinstance(item, Nest) for found in _paths(item, name, (*around, *names))]


@dataclass(frozen=True)
class Pack(Pass):
    """… w[f(n, k)] …   →   … p[n÷by, k, n mod by] …   where p holds the same elements in the order of reading

    `order` names the other loops that the read depends on, outermost first. With `at`, the copy is made inside that
    loop into scratch; without, `copy` is a nest of its own (for parameters it runs once).
    """

    nest: str
    buffer: str
    along: str
    by: int
    order: tuple[str, ...]
    at: str = ""

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.along, *self.order, *((self.at,) if self.at else ()))
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
        if not self.at and reads[0].buffer.space not in ("param", "packed", "const"):
            return no(f"`{self.buffer}` changes at every call: say where it is packed (`at`)", ir.name)
        return self._places(ir, reads[0])

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
        if any(buffer.name == name for buffer in ir.reads):  # a part of it is packed already
            name = f"{name}.{self.along}"
        return Buffer(name, source.dtype, shape, "scratch" if self.at else "arena")

    def copy(self, ir: Nest) -> Nest:
        """The nest that fills the packed copy; past the end of `along` it holds what a failing guard would read."""
        along, order = self._loops(ir)
        load, target = self._reads(ir)[0], self.packed(ir)
        block, lane = Var(f"{self.along}.block", target.shape[0]), Var(f"{self.along}.lane", self.by)
        fresh = {loop.var: Var(f"{loop.name}.pack", loop.extent) for loop in order}
        at = index_of(block) * self.by + index_of(lane)
        source = load.substitute({along.var: at, **{old: index_of(new) for old, new in fresh.items()}})
        if at.bounds[1] >= along.extent:
            source = replace(source, guards=(*source.guards, Guard(at, along.extent)))
        index = (index_of(block), *(index_of(v) for v in fresh.values()), index_of(lane))
        loops = tuple(Loop(v) for v in (block, *fresh.values(), lane))
        return Nest(
            loops, (Store(target, index, source),), (), f"{self.nest}.pack", ir.origin, f"pack {load.buffer.name}"
        )

    def apply(self, ir: Nest) -> Nest:
        along, order = self._loops(ir)
        load, target = self._reads(ir)[0], self.packed(ir)
        at = index_of(along.var)
        index = (at // self.by, *(index_of(loop.var) for loop in order), at % self.by)
        copy = self.copy(ir)

        def read(found: Load) -> Load:
            return Load(target, index) if found == load else found

        made = ir.map_stores(lambda s: replace(s, value=replace_loads(s.value, read)))
        if not self.at:
            return made
        return change_loop(made, self.at, lambda nest, position: _insert_first(nest, position, copy, target))


def _insert_first(nest: Nest, position: int, copy: Nest, target: Buffer) -> Nest:
    """The nest with `copy` run at the start of each iteration of its loop at `position`."""
    inner = replace(nest, loops=nest.loops[position + 1 :], name="", note="")
    first = replace(copy, name="", note="")
    return replace(nest, loops=nest.loops[: position + 1], body=(first, inner), scratch=(target,))


@dataclass(frozen=True)
class Alternate(Pass):
    """for t: for j: S(t, j)   →   for t in pairs: {for j: S(t, j); for j: S(t+1, last - j)}

    Every second iteration of an outer loop walks an inner parallel loop backwards, so that what was read last is read
    again first: a panel that does not quite fit a cache is found there for the most part.
    """

    nest: str
    loop: str
    inner: str

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.loop, self.inner)
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

    def _alternate(self, nest: Nest, position: int) -> Nest:
        loop = nest.loops[position]
        pairs = Var(f"{self.loop}.o", loop.extent // 2)
        step = index_of(pairs) * 2
        forward = nest.substitute({loop.var: step}).body
        backward = tuple(self._reversed(item) for item in nest.substitute({loop.var: step + 1}).body)
        halves = Nest((replace(loop, var=pairs),), (*forward, *backward), nest.scratch)
        if loop.extent % 2 == 0:
            return replace(
                halves,
                loops=(*nest.loops[:position], *halves.loops),
                name=nest.name,
                origin=nest.origin,
                note=nest.note,
            )
        last = Nest((), nest.substitute({loop.var: index_of(loop.extent - 1)}).body, nest.scratch)
        return replace(nest, loops=nest.loops[:position], body=(halves, last), scratch=())

    def _reversed(self, item: Store | Nest) -> Store | Nest:
        if isinstance(item, Store):
            return item
        back = {loop.var: index_of(loop.var) * -1 + (loop.extent - 1) for loop in item.loops if loop.name == self.inner}
        body = tuple(self._reversed(i) for i in item.body)
        return replace(item, body=body).substitute(back)


@dataclass(frozen=True)
class Prefetch(Pass):
    """… w[i] …   →   … w[i] …, and w[i + ahead] is on its way"""

    nest: str
    buffer: str
    ahead: int

    def check(self, ir: Nest) -> Verdict:
        if self.ahead < 1:
            return no(f"`ahead` must be at least 1, got {self.ahead}", ir.name)
        if not any(load.buffer.name == self.buffer for s in ir.stores for load in loads(s)):
            return no(f"`{self.buffer}` is not read", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        def read(load: Load) -> Load:
            return replace(load, ahead=self.ahead) if load.buffer.name == self.buffer else load

        return ir.map_stores(lambda s: replace(s, value=replace_loads(s.value, read)))


@dataclass(frozen=True)
class Plain(Pass):
    """the schedule that was chosen for a nest   →   none: what follows is all that is done to it"""

    nest: str

    def check(self, ir: Nest) -> Verdict:
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return ir


@dataclass(frozen=True)
class _SetMode(Pass):
    nest: str
    loop: str

    def check(self, ir: Nest) -> Verdict:
        return _exists(ir, self.loop)

    def _set(self, ir: Nest, mode: str) -> Nest:
        def change(nest: Nest, position: int) -> Nest:
            loops = list(nest.loops)
            loops[position] = replace(loops[position], mode=mode)
            return replace(nest, loops=tuple(loops))

        return change_loop(ir, self.loop, change)


@dataclass(frozen=True)
class Unroll(_SetMode):
    """for i in 0..3: S(i)   →   S(0); S(1); S(2)"""

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.loop)
        if not found:
            return found
        owner, position = find_loop(ir, self.loop) or (ir, 0)
        if owner.loops[position].extent > 64:
            return no(f"{owner.loops[position].extent} copies are too many", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return self._set(ir, "unroll")


@dataclass(frozen=True)
class Vectorise(_SetMode):
    """for i in 0..16: S(i)   →   S(0:16) in vector registers"""

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.loop)
        if not found:
            return found
        return _vector_verdict(ir, self.loop, None)

    def apply(self, ir: Nest) -> Nest:
        return self._set(ir, "vector")


def _vector_verdict(nest: Nest, name: str, outside: str | None) -> Verdict:
    """No vector loop inside another; statements write an element per lane (scratch may grow lanes) or reduce over them.

    That no serial loop is left inside it is checked when the schedule is complete (`ready`): sinking comes later.
    """
    for loop in nest.loops:
        inner = loop.name == name or loop.mode == "vector"
        if inner and outside is not None:
            return no(f"`{loop.name}` is inside the vector loop `{outside}`", nest.name)
        if inner:
            outside = loop.name
        if loop.name == name and loop.kind == "sequential":
            return no("a sequential loop runs in order", nest.name)
        if loop.name == name:
            for store in nest.stores:
                over = not any(loop.var in part.vars for part in store.index)
                if over and store.reduce is None and loop.var in store.value.vars and store.target.space != "scratch":
                    return no(f"`{store}` would be written by every lane", nest.name)
    for item in nest.body:
        if isinstance(item, Nest):
            verdict = _vector_verdict(item, name, outside)
            if not verdict:
                return verdict
    return yes()


@dataclass(frozen=True)
class Parallelise(_SetMode):
    """for i: S(i)   →   the iterations are divided among the threads

    A part of a walk through time may be divided too: all threads take each step together.
    """

    def check(self, ir: Nest) -> Verdict:
        found = _exists(ir, self.loop)
        if not found:
            return found
        if ir.loops and all(loop.kind == "sequential" for loop in ir.loops):
            heads = [leading(part) for part in step_parts(ir) if isinstance(part, Nest) and part.loops]
            named = [loop for loop in heads if loop.name == self.loop]
            whole = bool(named)
        else:
            parts = [ir] if ir.loops else [item for item in ir.body if isinstance(item, Nest)]
            named = [part.loops[0] for part in parts if part.loops and part.loops[0].name == self.loop]
            whole = len(named) == len(parts)
        if not whole:
            return no("only the outermost loop of a nest is divided among threads", ir.name)
        if any(loop.kind != "parallel" for loop in named):
            return no(f"`{self.loop}` is {named[0].kind}", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return self._set(ir, "threads")


def step_parts(nest: Nest) -> list[Store | Nest]:
    """The body of a nest; pieces that a split has made of a part count as parts."""
    found: list[Store | Nest] = []
    for item in nest.body:
        pieces = isinstance(item, Nest) and all(loop.extent == 1 for loop in item.loops) and not item.scratch
        if isinstance(item, Nest) and pieces and all(isinstance(part, Nest) for part in item.body):
            ones = {loop.var: index_of(0) for loop in item.loops}
            found += step_parts(item.substitute(ones))
        else:
            found.append(item)
    return found


def leading(nest: Nest) -> Loop:
    """The outermost loop that runs more than once, if one does."""
    return next((loop for loop in nest.loops if loop.extent > 1), nest.loops[0])


def ready(nest: Nest, vector: str | None = None) -> Verdict:
    """Whether a scheduled nest can be emitted."""
    for loop in nest.loops:
        if vector is not None and loop.mode != "unroll" and loop.extent > 1:
            return no(f"`{loop.name}` stays a loop inside the vector loop `{vector}`", nest.name)
        if loop.mode == "vector":
            vector = loop.name
    return next((v for item in nest.body if isinstance(item, Nest) and not (v := ready(item, vector))), yes())


def register_tile(nest: Nest, rows: str, row_tile: int, lanes: str, lane_tile: int) -> list[Pass]:
    """A tile of accumulators in registers over two output loops: the passes that a person would write for it."""
    by_name = {loop.name: loop for loop in nest.loops}
    passes: list[Pass] = []
    inner = []
    for name, size, tail in ((rows, row_tile, "balanced"), (lanes, lane_tile, "rest")):
        split = by_name[name].extent > size
        if split:
            passes.append(Split(nest.name, name, size, tail))
        inner.append(f"{name}.i" if split else name)
    outer = [n for loop in nest.loops for n in (loop.name, f"{loop.name}.o")]
    split_names = {name.removesuffix(".i") for name in inner if name.endswith(".i")}
    kept = [n for n in outer if n not in inner and (n.removesuffix(".o") in split_names) == n.endswith(".o")]
    return [
        *passes,
        Reorder(nest.name, (*kept, *inner)),
        Unroll(nest.name, inner[0]),
        Vectorise(nest.name, inner[1]),
        Sink(nest.name, tuple(inner)),
    ]


def schedule(nest: Nest, passes: list[Pass]) -> Nest:
    """Apply passes in order; a refusal is raised as a Problem that names the pass."""
    for one in passes:
        nest = one(nest)
    return nest
