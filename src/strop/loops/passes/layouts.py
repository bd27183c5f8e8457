"""Checked transformations of a whole program: where its tensors lie.

    bordercopy{tensor=x}                                                   a tensor of the caller is copied
    twin{tensor=conv1 readers=(conv3)}                                     a tensor is kept twice, for other readers
    relayout{tensor=conv1 steps=((split,1,16),(reorder,(0,1,3,4,2)))}      a tensor gets another layout
    storeat{tensor=bias host=weight dim=1}                                 a tensor lies behind another, in its memory

Like the passes on single nests these are values that print, parse back and say why they refuse. A tensor that the
caller owns is copied first (for parameters that happens once), and the copy gets the layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import permutations, takewhile
from typing import Any, ClassVar

from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.loops.index import Var, index_of
from strop.loops.ir import Buffer, Load, Loop, Nest, Store
from strop.loops.layout import STEPS, EmbedDim, Layout, LayoutStep, SplitDim, blocked, channels_last, halo, relayout
from strop.loops.lowered import LibraryCall, Lowered, Step, reads, writes

#: what is added to the name of a tensor that belongs to the caller for the copy that does not
INSIDE = ".inside"
#: what is added to the name of a tensor for its second copy
TWIN = ".again"
#: of tensors that may have channels and space
RANKS = range(3, 6)
#: channels that lie side by side in a blocked layout: the f32 of a vector register
BLOCKS = (4, 8, 16)


class NestsPass(Pass, abstract=True):
    """A pass on all nests of a program."""

    level: ClassVar[Level] = "nests"


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
    """The nest that copies a tensor to another: one of the caller's to one of the program's or back, or to its twin."""
    loops = tuple(Loop(Var(f"i{d}", extent)) for d, extent in enumerate(source.shape))
    index = tuple(index_of(loop.var) for loop in loops)
    inner = source if target.space == "output" else target
    nodes = (source.name.removesuffix(INSIDE),)
    copy = Store(target, index, Load(source, index), nodes=nodes)
    return Nest(loops, (copy,), name=f"{inner.name}.copy", note=BORDER_COPY)


def _find(program: Lowered, name: str) -> tuple[Buffer | None, Verdict]:
    """The tensor, or its copy where the caller owns it and there is one."""
    known = program.tensors
    found = known.get(name + INSIDE) or known.get(name)
    if found is None:
        near = get_close_matches(name, known, 3) or list(known)[:6]
        return None, no(f"there is no tensor `{name}`; near it: {', '.join(near)}")
    for step in program.library:
        if found in (*step.inputs, *step.outputs):
            return None, no(f"`{name}` goes through {step.target}, a library call, which wants it row-major", step.name)
    if not found.size:
        return None, no(f"`{name}` has no elements")
    for copy in program.nests if found.space not in ("arena", "packed") else ():
        if isinstance(copy, Nest) and copy.note == BORDER_COPY and found in (*copy.reads, *copy.writes):
            (own,) = {*copy.reads, *copy.writes} - {found}
            return None, no(f"`{name}` is copied already, to `{own.name}`", copy.name)
    return found, yes()


def _owned(program: Lowered, buffer: Buffer) -> tuple[Lowered, Buffer]:
    """The program with a tensor of its own in place of one that belongs to the caller."""
    if buffer.space in ("arena", "packed"):
        return program, buffer
    return BorderCopy(buffer.name).apply(program), inside(buffer)


def inside(buffer: Buffer) -> Buffer:
    """The program's own copy of a tensor of the caller."""
    return Buffer(buffer.name + INSIDE, buffer.dtype, buffer.shape, "arena")


@dataclass(frozen=True)
class BorderCopy(NestsPass):
    """for i: S(x[i])   →   for i: y[i] = x[i]; for i: S(y[i])     (x is the caller's; a result is copied at the end)"""

    tensor: str

    def check(self, ir: Lowered) -> Verdict:
        found, verdict = _find(ir, self.tensor)
        if found is None:
            return verdict
        if found.name != self.tensor:
            return no(f"`{found.name}` is its copy already", self.tensor)
        return no("it is the program's own", self.tensor) if found.space in ("arena", "packed") else yes()

    def apply(self, ir: Lowered) -> Lowered:
        buffer, _ = _find(ir, self.tensor)
        assert buffer is not None
        own = inside(buffer)
        steps = [relayout(s, {buffer: (own, Layout())}) if isinstance(s, Nest) else s for s in ir.nests]
        if buffer.space == "output":
            steps.append(border_copy(own, buffer))
        else:
            before = takewhile(lambda step: isinstance(step, Nest) and step.note == BORDER_COPY, steps)
            steps.insert(len(list(before)), border_copy(buffer, own))
        return replace(ir, nests=tuple(steps))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[BorderCopy]:
        for name in ir.tensors:
            if (one := cls(name)).check(ir):
                yield one


@dataclass(frozen=True)
class HandOver(NestsPass):
    """for i: y[n, c, h, w] = f(i)   →   for i: y[n, h, w, c] = f(i)     (y is a result that the caller takes so)"""

    tensor: str

    def check(self, ir: Lowered) -> Verdict:
        if self.tensor not in ir.handed or self.tensor not in {b.name for b in ir.outputs}:
            return no("nobody takes it channels last", self.tensor)
        return no("it lies that way already", self.tensor) if self.tensor in ir.layouts else yes()

    def apply(self, ir: Lowered) -> Lowered:
        return self.apply_all(ir, (self,))

    @classmethod
    def apply_all(cls, ir: Lowered, passes: Sequence[HandOver]) -> Lowered:
        names = {one.tensor for one in passes}
        turned: dict[Buffer, tuple[Buffer, Layout]] = {}
        for buffer in (b for b in ir.outputs if b.name in names):
            layout = channels_last(len(buffer.shape))
            turned[buffer] = (replace(buffer, shape=layout.shape(buffer.shape)), layout)
        made = _laid_out(ir, turned)
        return replace(made, outputs=tuple(turned[b][0] if b in turned else b for b in ir.outputs))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[HandOver]:
        for buffer in ir.outputs:
            if (one := cls(buffer.name)).check(ir):
                yield one


@dataclass(frozen=True)
class Twin(NestsPass):
    """for i: b[i] = f(i); S(b); T(b)   →   for i: b[i] = f(i); for i: c[i] = b[i]; S(b); T(c)     (`readers`: T)"""

    tensor: str
    readers: tuple[str, ...]

    def check(self, ir: Lowered) -> Verdict:
        found, verdict = _find(ir, self.tensor)
        if found is None:
            return verdict
        if found.space != "arena":
            return no("it belongs to the caller", self.tensor)
        if found.name + TWIN in ir.tensors:
            return no("there is a second copy of it already", self.tensor)
        for name in self.readers:
            step = ir.steps.get(name)
            if not isinstance(step, Nest) or found not in step.reads:
                return no(f"there is no nest `{name}` that reads it", self.tensor)
            if found in step.writes:
                return no(f"`{name}` writes it as well", self.tensor)
        return yes() if self.readers else no("nobody is to read the second copy", self.tensor)

    def apply(self, ir: Lowered) -> Lowered:
        buffer, _ = _find(ir, self.tensor)
        assert buffer is not None
        twin = replace(buffer, name=buffer.name + TWIN)
        last = max(i for i, step in enumerate(ir.nests) if buffer in writes(step))
        steps = [
            relayout(step, {buffer: (twin, Layout())}) if isinstance(step, Nest) and step.name in self.readers else step
            for step in ir.nests
        ]
        behind = takewhile(_copies_to_a_twin, steps[last + 1 :])
        steps.insert(last + 1 + len(list(behind)), border_copy(buffer, twin))
        return replace(ir, nests=tuple(steps))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[Twin]:
        """A second copy for any but the first nest that reads a tensor."""
        for buffer in (b for b in ir.tensors.values() if b.space == "arena"):
            steps = (ir.nests[place] for place in ir.readers.get(buffer, ()))
            readers = [step.name for step in steps if isinstance(step, Nest)]
            twins = (cls(buffer.name, (reader,)) for reader in readers[1:])
            yield from (one for one in twins if one.check(ir))


def _copies_to_a_twin(step: Step) -> bool:
    return isinstance(step, Nest) and step.note == BORDER_COPY and step.writes[0].name.endswith(TWIN)


@dataclass(frozen=True)
class Relayout(NestsPass):
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
        return self.apply_all(ir, (self,))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[Relayout]:
        """Tensors of channels and space with the channels last, or in blocks of a vector."""
        for name, buffer in ir.tensors.items():
            rank = len(buffer.shape)
            if rank in RANKS and name not in ir.layouts and buffer.shape[1] > 1:
                layouts = (channels_last(rank), *(blocked(rank, by) for by in BLOCKS if buffer.shape[1] % by == 0))
                found = (cls(name, layout.text) for layout in layouts)
                yield from (one for one in found if one.check(ir))

    @classmethod
    def apply_all(cls, ir: Lowered, passes: Sequence[Relayout]) -> Lowered:
        """Different tensors of the program are laid out at once, which rewrites every nest once."""
        chosen: dict[Buffer, tuple[Buffer, Layout]] = {}
        known = ir.tensors
        for one in passes:
            found = known.get(one.tensor + INSIDE) or known[one.tensor]
            if found in chosen or found.space not in ("arena", "packed"):
                ir, chosen = _laid_out(ir, chosen), {}
                known = ir.tensors
                ir, found = _owned(ir, known.get(one.tensor + INSIDE) or known[one.tensor])
            layout = Layout.of(*one.steps)
            chosen[found] = (replace(found, shape=layout.shape(found.shape)), layout)
        return _laid_out(ir, chosen)


def _laid_out(program: Lowered, layouts: Mapping[Buffer, tuple[Buffer, Layout]]) -> Lowered:
    """The program over tensors in new layouts, each after those that it got before."""
    steps = lay_out(program.nests, layouts)
    known = {own.name: program.layouts.get(own.name, Layout()).steps for own in layouts}
    new = {own.name: Layout((*known[own.name], *layout.steps)) for own, (_, layout) in layouts.items()}
    return replace(program, nests=tuple(steps), layouts={**program.layouts, **new})


def _read_while_written(program: Lowered, buffer: Buffer) -> bool:
    return any(buffer in step.reads and buffer in step.writes for step in program.nests if isinstance(step, Nest))


@dataclass(frozen=True)
class StoreAt(NestsPass):
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
        behind = Layout((*self._unsqueezed(part, host), EmbedDim(self.dim, first, extent)))
        front = Layout((EmbedDim(self.dim, 0, extent),))
        steps = lay_out(ir.nests, {host: (both, front), part: (both, behind)})
        kept = {name: layout for name, layout in ir.layouts.items() if name not in (host.name, part.name)}
        return replace(ir, nests=tuple(steps), layouts={**kept, both.name: Layout()})

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[StoreAt]:
        """What is read beside a parameter of one more dimension: a bias behind the rows of its weight."""
        seen: set[tuple[Buffer, Buffer]] = set()
        for step in ir.nests:
            given = [b for b in reads(step) if b.space in ("param", "packed")] if isinstance(step, Nest) else []
            for part, host in permutations(given, 2):
                if len(part.shape) + 1 != len(host.shape) or (part, host) in seen:
                    continue
                seen.add((part, host))
                behind = (cls(part.name, host.name, dim) for dim in range(len(host.shape)))
                yield from (one for one in behind if one.check(ir))

    def _unsqueezed(self, part: Buffer, host: Buffer) -> tuple[LayoutStep, ...]:
        """A dimension of one element where the host has `dim`."""
        if len(part.shape) == len(host.shape):
            return ()
        if self.dim < len(part.shape):
            return (SplitDim(self.dim, max(part.shape[self.dim], 1)),)
        return (SplitDim(self.dim - 1, 1),) if part.shape else ()
