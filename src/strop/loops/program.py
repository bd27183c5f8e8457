"""Checked transformations of a whole program: where its tensors lie, and which nests run inside which.

    relayout{tensor=conv1 steps=((split,1,16),(reorder,(0,1,3,4,2)))}      a tensor gets another layout
    storeat{tensor=bias host=weight dim=1}                                 a tensor lies behind another, in its memory
    computeat{nest=conv1 into=conv2 loop=oh}                               a nest runs inside a loop of its reader

Like the passes on single nests these are values that print, parse back and say why they refuse. A tensor that the
caller owns is copied first (for parameters that happens once), and the copy gets the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Guard, Load, Loop, Nest, Store, loads, replace_loads
from strop.loops.layout import STEPS, Layout, LayoutStep, Part, SplitDim, halo, relayout
from strop.loops.lower.driver import LibraryCall, Lowered, Step
from strop.loops.primitives import find_loop

#: what is added to the name of a tensor that belongs to the caller for the copy that does not
COPY = ".relaid"


class _OnProgram(Pass):
    """A pass on a whole program, as it is after fusion."""


def on_program(one: Pass) -> bool:
    """Whether a pass transforms a whole program rather than one nest."""
    return isinstance(one, _OnProgram)


def tensors(program: Lowered) -> dict[str, Buffer]:
    """The tensors of a program that passes can name: what steps read and write, by name."""
    found: dict[str, Buffer] = {}
    for step in program.nests:
        for buffer in (*reads(step), *writes(step)):
            found.setdefault(buffer.name, buffer)
    return found


def reads(step: Step) -> tuple[Buffer, ...]:
    return step.inputs if isinstance(step, LibraryCall) else step.reads


def writes(step: Step) -> tuple[Buffer, ...]:
    return step.outputs if isinstance(step, LibraryCall) else step.writes


def lay_out(steps: Sequence[Step], layouts: Mapping[Buffer, tuple[Buffer, Layout]]) -> list[Step]:
    """The steps over tensors in new layouts. Zeros around a tensor are written before its first elements are."""
    made: list[Step] = []
    filled: set[Buffer] = set()
    for step in steps:
        if isinstance(step, LibraryCall):
            made.append(step)
            continue
        for buffer in step.writes:
            if buffer in layouts and buffer not in filled:
                physical, layout = layouts[buffer]
                edge = halo(physical, buffer.shape, layout, f"{buffer.name}.halo")
                if edge is not None:
                    made.append(edge)
                filled.add(buffer)
        made.append(relayout(step, layouts))
    return made


#: what such a copy says of itself
BORDER_COPY = "copy at the border"


def border_copy(source: Buffer, target: Buffer) -> Nest:
    """The nest that copies a tensor of the caller to one of the program, or back."""
    loops = tuple(Loop(Var(f"i{d}", extent)) for d, extent in enumerate(source.shape))
    index = tuple(index_of(loop.var) for loop in loops)
    inner = source if source.space == "arena" else target
    return Nest(loops, (Store(target, index, Load(source, index)),), name=f"{inner.name}.copy", note=BORDER_COPY)


def _find(program: Lowered, name: str) -> tuple[Buffer | None, Verdict]:
    """The tensor, or its copy where the caller owns it and there is one."""
    known = tensors(program)
    found = known.get(name + COPY) or known.get(name)
    if found is None:
        near = get_close_matches(name, known, 3) or list(known)[:6]
        return None, no(f"there is no tensor `{name}`; near it: {', '.join(near)}")
    for step in program.nests:
        if isinstance(step, LibraryCall) and found in (*step.inputs, *step.outputs):
            return None, no(f"`{name}` goes through {step.target}, a library call, which wants it row-major", step.name)
    if not found.size:
        return None, no(f"`{name}` has no elements")
    return found, yes()


def _owned(program: Lowered, buffer: Buffer) -> tuple[Lowered, Buffer]:
    """The program with a tensor of its own in place of one that belongs to the caller."""
    if buffer.space in ("arena", "packed"):
        return program, buffer
    own = Buffer(buffer.name + COPY, buffer.dtype, buffer.shape, "arena")
    steps = [relayout(s, {buffer: (own, Layout())}) if isinstance(s, Nest) else s for s in program.nests]
    if buffer.space == "output":
        steps.append(border_copy(own, buffer))
    else:
        steps.insert(0, border_copy(buffer, own))
    return replace(program, nests=tuple(steps)), own


@dataclass(frozen=True)
class Relayout(_OnProgram):
    """a tensor  →  the same tensor, its elements elsewhere; every nest that touches it reads and writes them there

    Steps are applied first to last: `(split,dim,by)`, `(reorder,(dims))`, `(fuse,dim,count)`, `(pad,dim,before,after)`,
    `(unfold,dim,size,step)`. Another relayout of the same tensor goes on from where the last one left it.
    """

    tensor: str
    steps: tuple[tuple[Any, ...], ...]

    def check(self, ir: Lowered) -> Verdict:
        found, verdict = _find(ir, self.tensor)
        if found is None:
            return verdict
        for name, *values in self.steps:
            if name not in STEPS or name == "part":
                known = ", ".join(n for n in STEPS if n != "part")
                return no(f"there is no step `{name}`; there are {known}", self.tensor)
            try:
                STEPS[name](*values)
            except TypeError:
                return no(f"`{name}` does not take {len(values)} values", self.tensor)
        layout = Layout.of(*self.steps)
        fits = layout.check(found.shape)
        if not fits:
            return no(fits.why, self.tensor)
        if layout.overlaps and _read_while_written(ir, found):
            return no(
                "a nest reads it while writing it: of an element's places only one would be up to date", self.tensor
            )
        return yes()

    def apply(self, ir: Lowered) -> Lowered:
        found, _ = _find(ir, self.tensor)
        assert found is not None
        ir, own = _owned(ir, found)
        layout = Layout.of(*self.steps)
        physical = replace(own, shape=layout.shape(own.shape))
        steps = lay_out(ir.nests, {own: (physical, layout)})
        whole = Layout((*ir.layouts.get(own.name, Layout()).steps, *layout.steps))
        return replace(ir, nests=tuple(steps), layouts={**ir.layouts, own.name: whole})


def _read_while_written(program: Lowered, buffer: Buffer) -> bool:
    return any(buffer in step.reads and buffer in step.writes for step in program.nests if isinstance(step, Nest))


@dataclass(frozen=True)
class StoreAt(_OnProgram):
    """two tensors  →  one, in which the first lies behind the second along a dimension

    The tensor has the shape of its host, or that without `dim`: a bias behind the rows of its weight.
    """

    tensor: str
    host: str
    dim: int

    def check(self, ir: Lowered) -> Verdict:
        part, verdict = _find(ir, self.tensor)
        if part is None:
            return verdict
        host, verdict = _find(ir, self.host)
        if host is None:
            return verdict
        if part == host:
            return no("a tensor cannot be stored behind itself", self.tensor)
        if part.dtype != host.dtype:
            return no(f"`{self.tensor}` is {part.dtype}, `{self.host}` is {host.dtype}", self.tensor)
        if not 0 <= self.dim < len(host.shape):
            return no(f"`{self.host}` has no dimension {self.dim}; it has {len(host.shape)}", self.tensor)
        rest = (*host.shape[: self.dim], *host.shape[self.dim + 1 :])
        same_rank = len(part.shape) == len(host.shape)
        across = (*part.shape[: self.dim], *part.shape[self.dim + 1 :]) if same_rank else part.shape
        if across != rest:
            return no(f"{part} does not fit behind {host} along dimension {self.dim}", self.tensor)
        return yes()

    def apply(self, ir: Lowered) -> Lowered:
        part, host = (_find(ir, name)[0] for name in (self.tensor, self.host))
        assert part is not None and host is not None
        ir, part = _owned(ir, part)
        ir, host = _owned(ir, host)
        thick = part.shape[self.dim] if len(part.shape) == len(host.shape) else 1
        first, extent = host.shape[self.dim], host.shape[self.dim] + thick
        shape = (*host.shape[: self.dim], extent, *host.shape[self.dim + 1 :])
        both = replace(host, shape=shape, name=f"{host.name}+{part.name}")
        behind = Layout((*self._unsqueezed(part, host), Part(self.dim, first, extent)))
        front = Layout((Part(self.dim, 0, extent),))
        steps = lay_out(ir.nests, {host: (both, front), part: (both, behind)})
        kept = {name: layout for name, layout in ir.layouts.items() if name not in (host.name, part.name)}
        return replace(ir, nests=tuple(steps), layouts={**kept, both.name: Layout()})

    def _unsqueezed(self, part: Buffer, host: Buffer) -> tuple[LayoutStep, ...]:
        """A dimension of one element where the host has `dim`."""
        if len(part.shape) == len(host.shape):
            return ()
        if self.dim < len(part.shape):
            return (SplitDim(self.dim, max(part.shape[self.dim], 1)),)
        return (SplitDim(self.dim - 1, 1),) if part.shape else ()


@dataclass(frozen=True)
class ComputeAt(_OnProgram):
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

    def _plan(self, ir: Lowered) -> tuple[_Region | None, Verdict]:
        steps = {step.name: step for step in ir.nests}
        producer, consumer = steps.get(self.nest), steps.get(self.into)
        for name, step in ((self.nest, producer), (self.into, consumer)):
            if not isinstance(step, Nest):
                return None, no(f"there is no nest `{name}`", name)
        assert isinstance(producer, Nest) and isinstance(consumer, Nest)
        if len(producer.writes) != 1:
            return None, no("it writes several tensors", self.nest)
        buffer = producer.writes[0]
        if buffer.space != "arena" or buffer in ir.outputs:
            return None, no(f"`{buffer.name}` is needed outside", self.nest)
        readers = [step for step in ir.nests if buffer in reads(step) and step is not producer]
        writers = [step for step in ir.nests if buffer in writes(step)]
        if readers != [consumer] or writers != [producer]:
            return None, no(f"`{buffer.name}` is not written by it alone and read by `{self.into}` alone", self.nest)
        first, last = ir.nests.index(producer), ir.nests.index(consumer)
        if any(set(writes(step)) & set(producer.reads) for step in ir.nests[first + 1 : last + 1]):
            return None, no("what it reads is written again before it would run", self.nest)
        owner = next((i for i, loop in enumerate(consumer.loops) if loop.name == self.loop), None)
        if owner is None:
            inner = find_loop(consumer, self.loop) is not None
            why = f"`{self.loop}` is a loop of an inner nest" if inner else f"there is no loop `{self.loop}`"
            return None, no(f"{why}; the outer loops are {', '.join(loop.name for loop in consumer.loops)}", self.into)
        return _region(producer, consumer, buffer, owner)


@dataclass(frozen=True)
class _Region:
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


def _region(producer: Nest, consumer: Nest, buffer: Buffer, position: int) -> tuple[_Region | None, Verdict]:
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
    return _Region(producer, consumer, buffer, position, walked, tuple(base), tuple(extents)), yes()


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
