"""A nest that runs inside a loop of its only reader, for the part that one iteration needs.

computeat{nest=conv1 into=conv2 loop=oh}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from strop.core.passes import Verdict, no, yes
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Guard, Load, Loop, Nest, Store, loads
from strop.loops.lowered import Lowered, writes
from strop.loops.passes.layouts import NestsPass
from strop.loops.passes.primitives import find_loop
from strop.loops.rewriting import replace_loads


@dataclass(frozen=True)
class ComputeAt(NestsPass):
    """{for i: b[i] = f(i)}; for o: for j: S(b[o + j])   →   for o: {for i in a part: t[i] = f(o + i); for j: S(t[j])}

    The producer runs inside a loop of its only reader, for the part that one iteration needs, into scratch. What
    neighbouring iterations share is computed again.
    """

    nest: str
    into: str
    loop: str

    def check(self, ir: Lowered) -> Verdict:
        return self._plan(ir)[1]

    def apply(self, ir: Lowered) -> Lowered:
        plan, _ = self._plan(ir)
        assert plan is not None
        made = plan.merged()
        at = [made if step is plan.consumer else step for step in ir.nests if step is not plan.producer]
        return replace(ir, nests=tuple(at))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[ComputeAt]:
        """Each nest inside each outer loop of the only nest that reads what it writes."""
        readers: dict[Buffer, list[Nest]] = {}
        for nest in (step for step in ir.nests if isinstance(step, Nest)):
            for buffer in nest.reads:
                readers.setdefault(buffer, []).append(nest)
        for step in ir.nests:
            found = readers.get(step.writes[0], []) if isinstance(step, Nest) and len(step.writes) == 1 else []
            for loop in found[0].loops if len(found) == 1 else ():
                if loop.extent > 1 and (one := cls(step.name, found[0].name, loop.name)).check(ir):
                    yield one

    def _plan(self, ir: Lowered) -> tuple[_ComputedRegion | None, Verdict]:
        producer, consumer = ir.steps.get(self.nest), ir.steps.get(self.into)
        for name, step in ((self.nest, producer), (self.into, consumer)):
            if not isinstance(step, Nest):
                return None, no(f"there is no nest `{name}`", name)
        assert isinstance(producer, Nest) and isinstance(consumer, Nest)
        if len(producer.writes) != 1:
            return None, no("it writes several tensors", self.nest)
        buffer = producer.writes[0]
        if buffer.space != "arena" or buffer in ir.outputs:
            return None, no(f"`{buffer.name}` is needed outside", self.nest)
        readers = [place for place in ir.readers.get(buffer, ()) if ir.nests[place] is not producer]
        writers = ir.writers[buffer]
        if [ir.nests[at] for at in readers] != [consumer] or [ir.nests[at] for at in writers] != [producer]:
            return None, no(f"`{buffer.name}` is not written by it alone and read by `{self.into}` alone", self.nest)
        (first,), (last,) = writers, readers
        if any(set(writes(step)) & set(producer.reads) for step in ir.nests[first + 1 : last + 1]):
            return None, no("what it reads is written again before it would run", self.nest)
        owner = next((i for i, loop in enumerate(consumer.loops) if loop.name == self.loop), None)
        if owner is None:
            inner = find_loop(consumer, self.loop) is not None
            why = f"`{self.loop}` is a loop of an inner nest" if inner else f"there is no loop `{self.loop}`"
            return None, no(f"{why}; the outer loops are {', '.join(loop.name for loop in consumer.loops)}", self.into)
        return _region(producer, consumer, buffer, owner)


@dataclass(frozen=True)
class _ComputedRegion:
    """What one iteration of the outer loops needs of a producer's result."""

    producer: Nest
    consumer: Nest
    buffer: Buffer
    position: int
    walked: tuple[Loop, ...]  # the producer's loops, in the order of the dimensions that they walk over
    base: tuple[Index, ...]
    extents: tuple[int, ...]

    def merged(self) -> Nest:
        name = self.producer.name
        scratch = Buffer(f"{self.buffer.name}.part", self.buffer.dtype, self.extents, "scratch")
        fresh = {loop.var: Var(f"{name}:{loop.name}", loop.extent) for loop in self.producer.all_loops}
        local = {b: replace(b, name=f"{name}:{b.name}") for b in self.producer.all_scratch}
        region = [Var(f"{name}:{loop.name}", extent) for loop, extent in zip(self.walked, self.extents)]
        places = [index_of(v) + b for v, b in zip(region, self.base)]
        new = {old: index_of(var) for old, var in fresh.items()}
        new |= {loop.var: place for loop, place in zip(self.walked, places)}
        edge = tuple(g for g in map(Guard, places, self.buffer.shape) if not g.always)

        def guarded(load: Load) -> Load:
            return load if load.buffer.space == "scratch" else replace(load, guards=(*load.guards, *edge))

        def part(store: Store) -> Store:
            store = _over(store, local).substitute(new)
            if edge:
                store = replace(store, value=replace_loads(store.value, guarded))
            if store.target != self.buffer:
                return store
            return replace(store, target=scratch, index=tuple(map(index_of, region)), guards=(*store.guards, *edge))

        def inner(nest: Nest) -> Nest:
            loops = tuple(replace(loop, var=fresh[loop.var]) for loop in nest.loops)
            body = tuple(inner(i) if isinstance(i, Nest) else part(i) for i in nest.body)
            return Nest(loops, body, tuple(local[s] for s in nest.scratch))

        def read(load: Load) -> Load:
            if load.buffer != self.buffer:
                return load
            return replace(load, buffer=scratch, index=tuple(i - b for i, b in zip(load.index, self.base)))

        computed = replace(inner(self.producer), loops=tuple(Loop(var) for var in region))
        rest = self.consumer.map_stores(lambda s: replace(s, value=replace_loads(s.value, read)))
        loops = self.consumer.loops
        rest = replace(rest, loops=loops[self.position + 1 :], name="", note="")
        note = " in ".join(n for n in (self.producer.note, self.consumer.note) if n)
        return replace(
            self.consumer, loops=loops[: self.position + 1], body=(computed, rest), scratch=(scratch,), note=note
        )


def _over(store: Store, new: Mapping[Buffer, Buffer]) -> Store:
    def read(load: Load) -> Load:
        return replace(load, buffer=new[load.buffer]) if load.buffer in new else load

    return replace(store, target=new.get(store.target, store.target), value=replace_loads(store.value, read))


def _walked(producer: Nest, buffer: Buffer) -> tuple[Loop, ...] | None:
    """A loop of the producer for each dimension of what it writes."""
    stores = [s for s in producer.stores if s.target == buffer]
    if len(stores) != 1 or stores[0].reduce or stores[0].guards or len(producer.loops) != len(buffer.shape):
        return None
    left = [loop for loop in producer.loops if loop.kind == "parallel"]
    found: list[Loop] = []
    for part, extent in zip(stores[0].index, buffer.shape):
        loop = next((one for one in left if index_of(one.var) == part and one.extent == extent), None)
        if loop is None:
            return None
        left.remove(loop)
        found.append(loop)
    return tuple(found)


def _region(producer: Nest, consumer: Nest, buffer: Buffer, position: int) -> tuple[_ComputedRegion | None, Verdict]:
    walked = _walked(producer, buffer)
    if walked is None:
        return None, no(f"its loops do not walk over `{buffer.name}` one dimension each", producer.name)
    if any(loop.kind == "sequential" for loop in consumer.all_loops):
        return None, no("its reader runs in order, with state", consumer.name)
    outer = {loop.var for loop in consumer.loops[: position + 1]}
    found = [load for s in consumer.stores for load in loads(s) if load.buffer == buffer]
    base: list[Index] = []
    extents: list[int] = []
    for dim in range(len(buffer.shape)):
        parts = [_split(load.index[dim], outer) for load in found]
        moving = {part[0] for part in parts if part is not None}
        if None in parts or len(moving) != 1:
            return None, no(f"iterations do not read one window of dimension {dim} of `{buffer.name}`", consumer.name)
        bounds = [part[1].bounds for part in parts if part is not None]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        base.append(moving.pop() + low)
        extents.append(high - low + 1)
    return _ComputedRegion(producer, consumer, buffer, position, walked, tuple(base), tuple(extents)), yes()


def _split(index: Index, outer: set[Var]) -> tuple[Index, Index] | None:
    """What moves with the outer loops, and the rest; None where they meet in one term."""
    fixed, rest = Index(), Index(const=index.const)
    for atom, factor in index.terms:
        term = Index(((atom, factor),))
        if not term.vars & outer:
            rest = rest + term
        elif term.vars <= outer:
            fixed = fixed + term
        else:
            return None
    return None if index.is_data else (fixed, rest)
