"""Layouts: how the elements of a tensor lie in memory, as a composition of invertible steps.

    channels_last = Layout((Reorder((0, 2, 3, 1)),))                       # N C H W → N H W C
    padded        = Layout((Pad(2, 1, 1), Pad(3, 1, 1), Reorder((0, 2, 3, 1))))

A layout rewrites index expressions: a nest written over logical indices reads and writes the same elements wherever
they lie. Reads past the edge that wanted zeros lose their guard where the layout provides the zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Union

from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Guard, Load, Loop, Nest, Store, replace_loads


@dataclass(frozen=True)
class Permute:
    """Dimension i of the result is dimension dims[i] before."""

    dims: tuple[int, ...]

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(shape[d] for d in self.dims)

    def index(self, index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[Index, ...]:
        return tuple(index[d] for d in self.dims)


@dataclass(frozen=True)
class Pad:
    """Room for `before` and `after` zeros around a dimension."""

    dim: int
    before: int
    after: int

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: self.dim], shape[self.dim] + self.before + self.after, *shape[self.dim + 1 :])

    def index(self, index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[Index, ...]:
        return (*index[: self.dim], index[self.dim] + self.before, *index[self.dim + 1 :])


@dataclass(frozen=True)
class SplitDim:
    """A dimension becomes (⌈D/by⌉, by); the rest of the last block is never read as an element."""

    dim: int
    by: int

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: self.dim], -(-shape[self.dim] // self.by), self.by, *shape[self.dim + 1 :])

    def index(self, index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[Index, ...]:
        part = index[self.dim]
        return (*index[: self.dim], part // self.by, part % self.by, *index[self.dim + 1 :])


LayoutStep = Union[Permute, Pad, SplitDim]


@dataclass(frozen=True)
class Layout:
    """Steps from the logical shape to the physical one, first to last."""

    steps: tuple[LayoutStep, ...] = ()

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for step in self.steps:
            shape = step.shape(shape)
        return shape

    def index(self, index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[Index, ...]:
        for step in self.steps:
            index = step.index(index, shape)
            shape = step.shape(shape)
        return index

    def zeros(self, rank: int) -> dict[int, tuple[int, int]]:
        """Zeros before and after each padded logical dimension (pads come before other steps)."""
        return {s.dim: (s.before, s.after) for s in self.steps if isinstance(s, Pad)}


def channels_last(rank: int, pads: Mapping[int, tuple[int, int]] | None = None) -> Layout:
    """N C space… → N space… C, with zeros around space dimensions."""
    steps: list[LayoutStep] = [Pad(dim, *pad) for dim, pad in sorted((pads or {}).items()) if any(pad)]
    return Layout((*steps, Permute((0, *range(2, rank), 1))))


def relayout(nest: Nest, layouts: Mapping[Buffer, tuple[Buffer, Layout]]) -> Nest:
    """The nest with every access to the given buffers rewritten to their physical indices."""

    def read(load: Load) -> Load:
        found = layouts.get(load.buffer)
        if found is None:
            return load
        physical, layout = found
        shape = load.buffer.shape
        guards = load.guards
        if load.other == 0:
            zeros = layout.zeros(len(shape))
            guards = tuple(g for g in guards if not _provided(g, load, zeros))
        return replace(load, buffer=physical, index=layout.index(load.index, shape), guards=guards)

    def change(store: Store) -> Store:
        value = replace_loads(store.value, read)
        found = layouts.get(store.target)
        if found is None:
            return store if value is store.value else replace(store, value=value)
        physical, layout = found
        index = layout.index(store.index, store.target.shape)
        return replace(store, target=physical, index=index, value=value)

    return nest.map_stores(change)


def _provided(guard: Guard, load: Load, zeros: Mapping[int, tuple[int, int]]) -> bool:
    """Whether the zeros around a dimension cover every index that the guard would keep out."""
    for dim, (before, after) in zeros.items():
        if load.index[dim] == guard.index and guard.extent == load.buffer.shape[dim]:
            low, high = guard.index.bounds
            return low >= -before and high < guard.extent + after and _alone(guard, load, dim)
    return False


def _alone(guard: Guard, load: Load, dim: int) -> bool:
    """Whether no other dimension needs the guard to stay inside: along a diagonal one index is in two dimensions."""
    for d, (part, extent) in enumerate(zip(load.index, load.buffer.shape)):
        low, high = part.bounds
        if d != dim and part.vars & guard.index.vars and not (low >= 0 and high < extent):
            return False
    return True


def halo(buffer: Buffer, logical: tuple[int, ...], layout: Layout, name: str) -> Nest | None:
    """The nest that writes the zeros around a padded tensor."""
    zeros = {dim: pad for dim, pad in layout.zeros(len(logical)).items() if any(pad)}
    if not zeros:
        return None
    value = Const(0.0 if buffer.dtype in ("f32", "f64") else 0, buffer.dtype)
    parts: list[Nest] = []
    narrow: dict[int, tuple[int, int]] = {}  # dimensions already done: only their inside is left
    for dim, (before, after) in zeros.items():
        for first, count in ((-before, before), (logical[dim], after)):
            if not count:
                continue
            loops, index = [], []
            for d, extent in enumerate(logical):
                low, size = 0, extent
                if d == dim:
                    low, size = first, count
                elif d in zeros and d not in narrow:
                    low, size = -zeros[d][0], extent + sum(zeros[d])
                var = Var(f"{name}{len(parts)}.{d}", size)
                loops.append(Loop(var))
                index.append(index_of(var) + low)
            order = _physical_order(layout, len(logical))
            parts.append(
                Nest(tuple(loops[d] for d in order), (Store(buffer, layout.index(tuple(index), logical), value),))
            )
        narrow[dim] = zeros[dim]
    return Nest((), tuple(parts), (), name, note="zeros around the edge")


def _physical_order(layout: Layout, rank: int) -> tuple[int, ...]:
    for step in layout.steps:
        if isinstance(step, Permute):
            return step.dims
    return tuple(range(rank))
