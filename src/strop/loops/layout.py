"""Layouts: how the elements of a tensor lie in memory, as a composition of invertible steps.

    channels_last = Layout((Permute((0, 2, 3, 1)),))                       # N C H W → N H W C
    padded        = Layout((Pad(2, 1, 1), Pad(3, 1, 1), Permute((0, 2, 3, 1))))
    blocked       = Layout((SplitDim(1, 16), Permute((0, 1, 3, 4, 2))))    # N C H W → N C/16 H W 16c

A layout rewrites index expressions: a nest written over logical indices reads and writes the same elements wherever
they lie. Reads past the edge that wanted zeros lose their guard where the layout provides the zeros. Every step knows
its way back, so a layout can be undone as it can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from math import prod
from typing import Any, Union

from strop.core.memoize import remembered
from strop.core.passes import Verdict, no, yes
from strop.core.values import changed
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Guard, Load, Loop, Nest, Store
from strop.loops.rewriting import replace_loads

Shape = tuple[int, ...]
Place = tuple[Index, ...]


def _has(dim: int, shape: Shape) -> Verdict:
    if 0 <= dim < len(shape):
        return yes()
    return no(f"there is no dimension {dim}; there are {len(shape)}")


@dataclass(frozen=True)
class Permute:
    """Dimension i of the result is dimension dims[i] before."""

    dims: tuple[int, ...]

    def check(self, shape: Shape) -> Verdict:
        if sorted(self.dims) != list(range(len(shape))):
            return no(f"{self.dims} does not name each of the {len(shape)} dimensions once")
        return yes()

    def shape(self, shape: Shape) -> Shape:
        return tuple(shape[d] for d in self.dims)

    def index(self, index: Place, shape: Shape) -> Place:
        return tuple(index[d] for d in self.dims)

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        return tuple(index[self.dims.index(d)] for d in range(len(shape))), ()


@dataclass(frozen=True)
class Pad:
    """Room for `before` and `after` zeros around a dimension."""

    dim: int
    before: int
    after: int

    def check(self, shape: Shape) -> Verdict:
        if self.before < 0 or self.after < 0:
            return no(f"a dimension cannot be padded by {min(self.before, self.after)}")
        return _has(self.dim, shape)

    def shape(self, shape: Shape) -> Shape:
        return _with(shape, self.dim, shape[self.dim] + self.before + self.after)

    def index(self, index: Place, shape: Shape) -> Place:
        return _with(index, self.dim, index[self.dim] + self.before)

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        part = index[self.dim] - self.before
        return _with(index, self.dim, part), (Guard(part, shape[self.dim]),)


@dataclass(frozen=True)
class EmbedDim:
    """A dimension lies in a larger one of `extent`, from `first` on; what is around it belongs to other tensors."""

    dim: int
    first: int
    extent: int

    def check(self, shape: Shape) -> Verdict:
        found = _has(self.dim, shape)
        if found and not 0 <= self.first <= self.extent - shape[self.dim]:
            return no(f"{shape[self.dim]} elements do not lie in {self.extent} from {self.first} on")
        return found

    def shape(self, shape: Shape) -> Shape:
        return _with(shape, self.dim, self.extent)

    def index(self, index: Place, shape: Shape) -> Place:
        return _with(index, self.dim, index[self.dim] + self.first)

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        part = index[self.dim] - self.first
        return _with(index, self.dim, part), (Guard(part, shape[self.dim]),)


@dataclass(frozen=True)
class SplitDim:
    """A dimension becomes (⌈D/by⌉, by); the rest of the last block is never read as an element."""

    dim: int
    by: int

    def check(self, shape: Shape) -> Verdict:
        return no(f"`by` must be at least 1, got {self.by}") if self.by < 1 else _has(self.dim, shape)

    def shape(self, shape: Shape) -> Shape:
        return _with(shape, self.dim, -(-shape[self.dim] // self.by), self.by)

    def index(self, index: Place, shape: Shape) -> Place:
        part = index[self.dim]
        return _with(index, self.dim, part // self.by, part % self.by)

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        part = index[self.dim] * self.by + index[self.dim + 1]
        return (*index[: self.dim], part, *index[self.dim + 2 :]), (Guard(part, shape[self.dim]),)


@dataclass(frozen=True)
class FuseDims:
    """`count` neighbouring dimensions from `dim` on become one, row-major."""

    dim: int
    count: int = 2

    def check(self, shape: Shape) -> Verdict:
        if self.count < 2:
            return no(f"at least two dimensions are fused, got {self.count}")
        if self.dim < 0 or self.dim + self.count > len(shape):
            return no(f"dimensions {self.dim} to {self.dim + self.count - 1} are not all there; there are {len(shape)}")
        return yes()

    def shape(self, shape: Shape) -> Shape:
        end = self.dim + self.count
        return (*shape[: self.dim], prod(shape[self.dim : end]), *shape[end:])

    def index(self, index: Place, shape: Shape) -> Place:
        end = self.dim + self.count
        whole = index[self.dim]
        for part, extent in zip(index[self.dim + 1 : end], shape[self.dim + 1 : end]):
            whole = whole * extent + part
        return (*index[: self.dim], whole, *index[end:])

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        whole, parts = index[self.dim], []
        for extent in reversed(shape[self.dim + 1 : self.dim + self.count]):
            parts.append(whole % extent)
            whole = whole // extent
        return (*index[: self.dim], whole, *reversed(parts), *index[self.dim + 1 :]), ()


@dataclass(frozen=True)
class Unfold:
    """A dimension becomes (tiles, size) where tiles start `step` apart and overlap: an element lies in each that
    covers it. A window that moves by `step` finds all that it reads in one tile."""

    dim: int
    size: int
    step: int

    def check(self, shape: Shape) -> Verdict:
        if self.step < 1 or self.size < self.step:
            return no(f"tiles of {self.size} that start {self.step} apart leave elements out")
        return _has(self.dim, shape)

    def shape(self, shape: Shape) -> Shape:
        return _with(shape, self.dim, -(-shape[self.dim] // self.step), self.size)

    def index(self, index: Place, shape: Shape) -> Place:
        """One of an element's places: in the tile that moves with the index, if all that it reads is in there."""
        part, tiles = index[self.dim], -(-shape[self.dim] // self.step)
        whole, rest = part.divide(self.step)
        for back in range(min(whole.const, (self.size - 1) // self.step) + 1):
            tile, inside = whole - back, rest + back * self.step
            fits = tile.bounds[0] >= 0 and tile.bounds[1] < tiles
            if fits and inside.bounds[0] >= 0 and inside.bounds[1] < self.size:
                return _with(index, self.dim, tile, inside)
        return _with(index, self.dim, part // self.step, part % self.step)

    def places(self, index: Place, shape: Shape) -> list[tuple[Place, tuple[Guard, ...]]]:
        """Everywhere that an element lies, with what must hold for it to lie there."""
        part, tiles = index[self.dim], -(-shape[self.dim] // self.step)
        made = []
        for back in range((self.size - 1) // self.step + 1):
            tile, inside = part // self.step - back, part % self.step + back * self.step
            guards = tuple(g for g in (Guard(tile, tiles), Guard(inside, self.size)) if not g.always)
            made.append((_with(index, self.dim, tile, inside), guards))
        return made

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        part = index[self.dim] * self.step + index[self.dim + 1]
        return (*index[: self.dim], part, *index[self.dim + 2 :]), (Guard(part, shape[self.dim]),)


LayoutStep = Union[Permute, Pad, EmbedDim, SplitDim, FuseDims, Unfold]
#: the names of steps in the text of a pass
STEPS: Mapping[str, type[LayoutStep]] = {
    "split": SplitDim, "reorder": Permute, "fuse": FuseDims, "pad": Pad, "unfold": Unfold, "part": EmbedDim,
}  # fmt: skip


def _with(parts: tuple[Any, ...], dim: int, *new: Any) -> tuple[Any, ...]:
    return (*parts[:dim], *new, *parts[dim + 1 :])


@dataclass(frozen=True)
class Layout:
    """Steps from the logical shape to the physical one, first to last."""

    steps: tuple[LayoutStep, ...] = ()

    @staticmethod
    def of(*text: tuple[Any, ...]) -> Layout:
        """From plain values: `Layout.of(("split", 1, 16), ("reorder", (0, 1, 3, 4, 2)))`."""
        return Layout(tuple(STEPS[name](*values) for name, *values in text))

    @property
    def text(self) -> tuple[tuple[Any, ...], ...]:
        names = {kind: name for name, kind in STEPS.items()}
        return tuple((names[type(step)], *astuple(step)) for step in self.steps)

    def __str__(self) -> str:
        return " ".join(f"{name}({', '.join(map(str, values))})" for name, *values in self.text) or "row-major"

    def check(self, shape: Shape) -> Verdict:
        """Whether every step fits a tensor of this shape."""
        for step in self.steps:
            found = step.check(shape)
            if not found:
                return found
            shape = step.shape(shape)
        return yes()

    def shape(self, shape: Shape) -> Shape:
        for step in self.steps:
            shape = step.shape(shape)
        return shape

    def index(self, index: Place, shape: Shape) -> Place:
        """Where an element lies; one of its places where it lies in several."""
        for step in self.steps:
            index = step.index(index, shape)
            shape = step.shape(shape)
        return index

    def places(self, index: Place, shape: Shape) -> list[tuple[Place, tuple[Guard, ...]]]:
        """Everywhere that an element lies: what has to be written."""
        found: list[tuple[Place, tuple[Guard, ...]]] = [(index, ())]
        for step in self.steps:
            if isinstance(step, Unfold):
                found = [(new, (*old, *more)) for place, old in found for new, more in step.places(place, shape)]
            else:
                found = [(step.index(place, shape), guards) for place, guards in found]
            shape = step.shape(shape)
        return found

    def back(self, index: Place, shape: Shape) -> tuple[Place, tuple[Guard, ...]]:
        """The element that lies at a place, and what must hold for there to be one. `shape` is the logical one."""
        shapes = [shape]
        for step in self.steps:
            shapes.append(step.shape(shapes[-1]))
        guards: tuple[Guard, ...] = ()
        for step, before in zip(reversed(self.steps), reversed(shapes[:-1])):
            index, more = step.back(index, before)
            guards += tuple(g for g in more if not g.always)
        return index, guards

    @property
    def overlaps(self) -> bool:
        """Whether an element may lie in several places."""
        return any(isinstance(step, Unfold) and step.size > step.step for step in self.steps)

    @property
    def padded(self) -> bool:
        return any(isinstance(step, Pad) and (step.before or step.after) for step in self.steps)

    def zeros(self, rank: int) -> dict[int, tuple[int, int]]:
        """Zeros before and after each logical dimension that is padded while it is still one."""
        dims: list[int | None] = list(range(rank))
        found: dict[int, tuple[int, int]] = {}
        for step in self.steps:
            if isinstance(step, Permute):
                dims = [dims[d] for d in step.dims]
            elif isinstance(step, SplitDim | Unfold):
                dims[step.dim : step.dim + 1] = [None, None]
            elif isinstance(step, FuseDims):
                dims[step.dim : step.dim + step.count] = [None]
            elif isinstance(step, Pad) and (dim := dims[step.dim]) is not None and (step.before or step.after):
                before, after = found.get(dim, (0, 0))
                found[dim] = (before + step.before, after + step.after)
        return found


def channels_last(rank: int, pads: Mapping[int, tuple[int, int]] | None = None, channel: int = 1) -> Layout:
    """N C space… → N space… C, with zeros around space dimensions; `channel` says where channels are."""
    steps: list[LayoutStep] = [Pad(dim, *pad) for dim, pad in sorted((pads or {}).items()) if any(pad)]
    return Layout((*steps, Permute((*(dim for dim in range(rank) if dim != channel), channel))))


def blocked(rank: int, by: int, pads: Mapping[int, tuple[int, int]] | None = None, channel: int = 1) -> Layout:
    """N C space… → N C/by space… by, with zeros around space dimensions; `channel` says where channels are."""
    steps: list[LayoutStep] = [Pad(dim, *pad) for dim, pad in sorted((pads or {}).items()) if any(pad)]
    space = [dim + (dim > channel) for dim in range(1, rank) if dim != channel]
    return Layout((*steps, SplitDim(channel, by), Permute((0, channel, *space, channel + 1))))


def relayout(nest: Nest, layouts: Mapping[Buffer, tuple[Buffer, Layout]]) -> Nest:
    """The nest with every access to the given buffers rewritten to their physical indices."""
    touched = tuple((b, layouts[b]) for b in dict.fromkeys((*nest.reads, *nest.writes)) if b in layouts)
    return _relaid(nest, touched) if touched else nest


@remembered(maxsize=4096)
def _relaid(nest: Nest, touched: tuple[tuple[Buffer, tuple[Buffer, Layout]], ...]) -> Nest:
    layouts = dict(touched)

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
        return changed(load, buffer=physical, index=layout.index(load.index, shape), guards=guards)

    def change(store: Store) -> tuple[Store, ...]:
        value = replace_loads(store.value, read)
        place = Load(store.target, store.index, store.guards)
        moved = replace_loads(place, lambda load: load if load == place else read(load))
        assert isinstance(moved, Load)
        found = layouts.get(store.target)
        if found is None:
            if value is store.value and moved is place:
                return (store,)
            return (changed(store, index=moved.index, guards=moved.guards, value=value),)
        physical, layout = found
        return tuple(
            changed(store, target=physical, index=index, value=value, guards=(*moved.guards, *guards))
            for index, guards in layout.places(moved.index, store.target.shape)
        )

    return _rewritten(nest, change)


def _rewritten(nest: Nest, change: Callable[[Store], tuple[Store, ...]]) -> Nest:
    body: list[Store | Nest] = []
    for item in nest.body:
        if isinstance(item, Nest):
            body.append(_rewritten(item, change))
        else:
            body += change(item)
    same = len(body) == len(nest.body) and all(a is b for a, b in zip(body, nest.body))
    return nest if same else changed(nest, body=tuple(body))


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
    zeros = layout.zeros(len(logical))
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
                var = Var(f"edge{len(parts)}.{d}", size)
                loops.append(Loop(var))
                index.append(index_of(var) + low)
            order = _physical_order(layout, len(logical))
            nodes = (name.rpartition(".")[0],)
            places = layout.places(tuple(index), logical)
            stores = (Store(buffer, at, value, None, when, nodes) for at, when in places)
            parts.append(Nest(tuple(loops[d] for d in order), tuple(stores)))
        narrow[dim] = zeros[dim]
    return Nest((), tuple(parts), (), name, note="zeros around the edge")


def _physical_order(layout: Layout, rank: int) -> tuple[int, ...]:
    for step in layout.steps:
        if isinstance(step, Permute) and len(step.dims) == rank:
            return step.dims
    return tuple(range(rank))
