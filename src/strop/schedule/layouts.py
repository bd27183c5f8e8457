"""Which tensors get layouts of their own, with how many zeros around the edges that windows reach over.

Tensors that meet in a nest point by point are grouped; a group is laid out anew when one of its tensors is read through
windows (convolution, pooling). What the caller owns keeps its layout and is copied at the border. How each of them lies
is chosen by `schedule/layout_search.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from strop.core.journal import Journal
from strop.core.memoize import remembered
from strop.core.options import Layouts
from strop.core.passes import Pass
from strop.loops.analysis import contraction
from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Load, Nest, loads
from strop.loops.layout import Layout
from strop.loops.lowered import LibraryCall, Lowered, Step, reads, writes
from strop.loops.passes.layouts import INSIDE, BorderCopy, HandOver, Relayout, Twin
from strop.schedule.in_place import in_place
from strop.schedule.layout_search import Price, choose


def choose_layouts(
    lowered: Lowered,
    lanes: int,
    price: Price,
    policy: Layouts,
    journal: Journal | None = None,
    pinned: Mapping[str, str] | None = None,
    careful: Price | None = None,
) -> tuple[Lowered, list[Pass]]:
    """The program with a layout for every tensor but those that have theirs, and the passes that made it so; `price`
    says what a nest would cost, `careful` the same by its assembly, `pinned` how some tensors have to lie."""
    kept: set[Buffer] = set()
    if careful is not None and policy == "joint" and not pinned:
        kept = in_place(lowered, careful, lambda part: choose_layouts(part, lanes, price, policy)[0])
    program, borders, own = with_borders(lowered, kept)
    channels = channel_dims(program.nests, program.channels_last)
    own = [b for b in own if channels.get(b, 1) < len(b.shape)]  # without a dimension of channels there is no choice
    chosen = choose(program.nests, own, pads(program.nests), lanes, price, policy, channels, pinned)
    program = Twin.apply_all(program, chosen.twins)
    program = Relayout.apply_all(program, chosen.layouts)
    if journal is not None:
        for one in chosen.layouts:
            zeros = ", zeros around" if Layout.of(*one.steps).padded else ""
            journal.add("choice", one.tensor, chosen.names[one.tensor] + zeros)
    return program, [*borders, *chosen.twins, *chosen.layouts]


def with_borders(lowered: Lowered, kept: Collection[Buffer] = ()) -> tuple[Lowered, list[Pass], list[Buffer]]:
    """The program with copies at the border, the passes that made them, and the tensors that get layouts; those that
    are `kept` stay as they are."""
    handed = list(HandOver.space(lowered))
    program: Lowered = HandOver.apply_all(lowered, handed)
    given = {*program.layouts, *(buffer.name for buffer in kept)}
    wanted, borders = _to_lay_out(program.nests, given, program.channels_last)
    program = BorderCopy.apply_all(program, borders)
    copies = {b for b in _buffers(program.nests) if b.name.endswith(INSIDE) and b.name not in lowered.layouts}
    own = [b for b in _buffers(program.nests) if b.space == "arena" and (b in wanted or b in copies)]
    return program, [*handed, *borders], own


def _to_lay_out(
    steps: Sequence[Step], given: Collection[str] = (), last: Collection[str] = ()
) -> tuple[set[Buffer], list[BorderCopy]]:
    """The tensors that get layouts, and the copies at the border that some of them need."""
    groups = _Groups()
    windowed: set[Buffer] = set()
    channels = channel_dims(steps, last)
    for nest in (step for step in steps if isinstance(step, Nest)):
        moved = tuple((b, channels[b]) for b in (*nest.reads, *nest.writes) if b in channels)
        found, together = _walked(nest, moved)
        windowed |= found
        for a, b in together:
            groups.join(a, b)
    fixed = {b for step in steps if isinstance(step, LibraryCall) for b in (*step.inputs, *step.outputs)}
    fixed |= {b for b in _buffers(steps) if b.name in given}
    # nothing ever writes an empty tensor, so nothing would write the zeros around it
    wanted = {b for b in groups.members(windowed) if b not in fixed and b.size}
    return wanted, _border_copies(steps, wanted, windowed)


@remembered(maxsize=4096)
def _walked(
    nest: Nest, channels: tuple[tuple[Buffer, int], ...]
) -> tuple[frozenset[Buffer], tuple[tuple[Buffer, Buffer], ...]]:
    """The tensors over which windows of a nest move, and pairs that it walks over together. `channels` has those whose
    channels are not in dimension 1."""
    dims = dict(channels)

    def space(buffer: Buffer, index: tuple[Index, ...]) -> tuple[Index, ...]:
        channel = dims.get(buffer, 1)
        return tuple(part for dim, part in enumerate(index) if dim not in (0, channel))

    inner = [loop.var for loop in nest.all_loops if loop.kind == "reduce"]
    touched: list[tuple[Buffer, tuple[Index, ...]]] = []
    for store in nest.stores:
        touched += [(load.buffer, load.index) for load in loads(store)]
        touched.append((store.target, store.index))
    spatial = [(b, i) for b, i in touched if b.space in ("arena", "input", "output") and 3 <= len(b.shape) <= 5]
    known = {b for b, _ in spatial}
    written = [space(store.target, store.index) for store in nest.stores if store.target.space != "scratch"]
    windowed: set[Buffer] = set()
    for buffer, index in spatial:
        here = space(buffer, index)
        if any(_window(here, other, inner) for other in written if len(other) == len(here)):
            windowed.add(buffer)
    if any(isinstance(item, Nest) for item in nest.body):
        windowed.update(load.buffer for load in _over_the_edge(nest) if load.buffer in known)
        tiled = _read_in_tiles(nest) | (_read_in_rows(nest) if contraction(nest) is None else set())
        if tiled := tiled & known:
            windowed |= tiled | {b for b in nest.writes if b in known}
    together = [
        (a, b)
        for (a, i), (b, j) in pairwise(spatial)
        if len(a.shape) == len(b.shape) and _aligned(space(a, i), space(b, j))
    ]
    return frozenset(windowed), tuple(dict.fromkeys(together))


def channel_dims(steps: Sequence[Step], last: Collection[str] = ()) -> dict[Buffer, int]:
    """Which dimension holds the channels of those tensors where it is not dimension 1: of those that the caller keeps
    channels `last`, by name, and of others by what reads them.

    A tensor that was made row by row (by a layer norm, by a linear layer) and is read by a convolution through a
    transposed view lies channels last from the start: windows move over its dimension 1.
    """
    moved: dict[Buffer, set[int]] = {}
    for nest in (step for step in steps if isinstance(step, Nest)):
        for buffer, dims in _moving_dims(nest).items():
            moved.setdefault(buffer, set()).update(dims)
    found = {}
    for buffer, dims in moved.items():
        still = [dim for dim in range(1, len(buffer.shape)) if dim not in dims]
        if 1 in dims and len(still) == 1:
            found[buffer] = still[0]
    kept = (b for b in _buffers(steps) if b.name.removesuffix(INSIDE) in last and len(b.shape) >= 3)
    return {**found, **{buffer: len(buffer.shape) - 1 for buffer in kept}}


@remembered(maxsize=4096)
def _moving_dims(nest: Nest) -> Mapping[Buffer, set[int]]:
    """Of every image that a nest reads, the dimensions along which windows move."""
    inner = {loop.var for loop in nest.all_loops if loop.kind == "reduce"}
    found: dict[Buffer, set[int]] = {}
    for load in (load for store in nest.stores for load in loads(store)):
        if 3 <= len(load.buffer.shape) <= 5:
            found.setdefault(load.buffer, set()).update(_moving(load, inner))
    return found


def _moving(load: Load, inner: set[Var]) -> set[int]:
    """Dimensions in which windows reach over the edge or overlap; the channels of groups do neither."""
    found = set()
    for dim, part in enumerate(load.index):
        reach = sum(abs(part.coefficient(var) or 0) * var.extent for var in part.vars & inner)
        steps = [abs(part.coefficient(var) or 0) for var in part.vars - inner]
        edge = load.other == 0 and any(g.index == part and g.extent == load.buffer.shape[dim] for g in load.guards)
        if edge or any(0 < step < reach for step in steps):
            found.add(dim)
    return found


FEWEST_PLACES = 4  # around one that make a window
FARTHEST = 64  # pixels from one to another of them
NARROWEST_TURNED = 4  # columns of a result that may be written as it lies


def _window(read: tuple[Index, ...], written: tuple[Index, ...], inner: list[Var]) -> bool:
    """The position in the same dimension of the result plus a reduce variable: a window moves over space."""
    return any(a.vars & b.vars and any(v in inner for v in a.vars) for a, b in zip(read, written))


def _aligned(a: tuple[Index, ...], b: tuple[Index, ...]) -> bool:
    """Whether two accesses walk over space together."""
    return all(bool(x.vars & y.vars) or x.is_const or y.is_const for x, y in zip(a, b))


def _over_the_edge(nest: Nest) -> list[Load]:
    """Reads past the edge that want zeros; not those of a statement that does not run there."""
    return [
        load
        for store in nest.stores
        for load in loads(store)
        if load.other == 0 and any(guard not in store.guards for guard in load.guards)
    ]


def _read_in_tiles(nest: Nest) -> set[Buffer]:
    """What is read at many places of space around one, each by a statement of its own: windows that are written out."""
    places: dict[tuple[Buffer, tuple[Index, ...]], set[tuple[int, ...]]] = {}
    for load in (load for store in nest.stores for load in loads(store)):
        moving = tuple(Index(part.terms) for part in load.index)
        places.setdefault((load.buffer, moving), set()).add(tuple(part.const for part in load.index[2:]))
    return {buffer for (buffer, _), found in places.items() if len(found) >= FEWEST_PLACES and _near(found)}


def _read_in_rows(nest: Nest) -> set[Buffer]:
    """What is taken apart pixel by pixel, all channels of one at a time, for products of scratch. Not the heads of an
    attention, which a sum walks through as well, several elements of each."""
    inner = [found for part in _parts(nest) if (found := contraction(part)) is not None]
    if not any(load.buffer.space == "scratch" for found in inner for load in found.operands):
        return set()
    rows = [s for s in nest.stores if s.target.space == "scratch" and s.target.shape]
    taken = [(load, s.index[-1]) for s in rows for load in loads(s) if len(load.index) > 2]
    return {load.buffer for load, place in taken if any(load.index[1].coefficient(var) for var in place.vars)}


def _parts(nest: Nest) -> Iterator[Nest]:
    """The nests inside of a nest."""
    for item in nest.body:
        if isinstance(item, Nest):
            yield item
            yield from _parts(item)


def _near(places: set[tuple[int, ...]]) -> bool:
    """Whether places lie around one: a window's do, the gates of a recurrent cell don't."""
    return all(max(along) - min(along) <= FARTHEST for along in zip(*places))


class _Groups:
    """Buffers that share a layout."""

    def __init__(self) -> None:
        self.parent: dict[Buffer, Buffer] = {}

    def root(self, buffer: Buffer) -> Buffer:
        top = buffer
        while (up := self.parent.get(top, top)) is not top and up != top:
            top = up
        while (up := self.parent.get(buffer, top)) is not top and up != top:  # the next time it is one step away
            self.parent[buffer], buffer = top, up
        return top

    def join(self, a: Buffer, b: Buffer) -> None:
        self.parent.setdefault(a, a)
        self.parent.setdefault(b, b)
        self.parent[self.root(a)] = self.root(b)

    def members(self, some: set[Buffer]) -> list[Buffer]:
        roots = {self.root(b) for b in some}
        grouped = [b for b in self.parent if self.root(b) in roots]
        return list(dict.fromkeys([*grouped, *sorted(some, key=lambda b: b.name)]))


def _buffers(steps: Sequence[Step]) -> list[Buffer]:
    found: dict[Buffer, None] = {}
    for step in steps:
        if isinstance(step, Nest):
            found.update(dict.fromkeys((*step.reads, *step.writes)))
    return list(found)


def _border_copies(steps: Sequence[Step], wanted: set[Buffer], windowed: set[Buffer]) -> list[BorderCopy]:
    """Inputs that windows read and outputs that contractions write get a copy inside, with a layout of its own."""
    written_by_contraction = {
        store.target
        for step in steps
        if isinstance(step, Nest) and any(isinstance(item, Nest) for item in step.body)
        for store in step.stores
    }
    turned = _turned_as_written(steps)
    copied = []
    for buffer in sorted(wanted, key=lambda b: b.name):
        read = buffer.space == "input" and buffer in windowed and not _summed_in_place(steps, buffer)
        written = buffer.space == "output" and buffer in written_by_contraction - turned and buffer.shape[1] > 1
        if read or written:
            copied.append(BorderCopy(buffer.name))
    return copied


def _summed_in_place(steps: Sequence[Step], buffer: Buffer) -> bool:
    """Whether all windows over an image that lies channels last are those of gradients of depthwise filters: sums over
    its places, channel by channel. Whether a place is outside is the same for all lanes, and each is read a few times
    only: a copy with zeros around the image takes longer than asking."""
    nests = [step for step in steps if isinstance(step, Nest) and any(isinstance(item, Nest) for item in step.body)]
    readers = [nest for nest in nests if buffer in nest.reads]
    return bool(readers) and all(_sums_places(nest, buffer) for nest in readers)


def _sums_places(nest: Nest, buffer: Buffer) -> bool:
    """Whether every channel has sums of its own over the places of an image, each for a few taps."""
    found = contraction(nest)
    reading = [load for load in found.operands if load.buffer == buffer] if found else []
    if found is None or not reading:
        return False
    outer = [loop for loop in found.nest.loops if loop.extent > 1]
    for load in reading:
        place = load.guards[-1].index if load.guards else Index()
        summed = max((loop.extent for loop in found.inner.loops if loop.var in place.vars), default=0)
        taps = max((loop.extent for loop in outer if loop.var in place.vars), default=0)
        channels = [loop for loop in outer if load.offset.coefficient(loop.var) == 1 and loop.var not in place.vars]
        shared = any(loop.var not in load.vars for loop in outer)
        own = all(loop.var in one.vars for loop in channels for one in found.operands)
        if summed <= taps or shared or not channels or not own:
            return False
    return True


def _turned_as_written(steps: Sequence[Step]) -> set[Buffer]:
    """Results that one contraction writes and nothing reads: squares of them are turned in registers on their way."""
    written = Counter(b for step in steps for b in writes(step))
    read = {b for step in steps for b in reads(step)}
    single = [b for step in steps if isinstance(step, Nest) and contraction(step) is not None for b in step.writes]
    wide = [b for b in single if len(b.shape) > 2 and b.shape[-1] >= NARROWEST_TURNED]
    return {b for b in wide if written[b] == 1 and b not in read}


def pads(steps: Sequence[Step]) -> dict[Buffer, dict[int, tuple[int, int]]]:
    """How far reads that want zeros reach over each edge."""
    found: dict[Buffer, dict[int, tuple[int, int]]] = {}
    for step in steps:
        for buffer, dim, low, high in _reaches(step) if isinstance(step, Nest) else ():
            known = found.setdefault(buffer, {})
            before, after = known.get(dim, (0, 0))
            known[dim] = (max(before, low), max(after, high))
    return found


@remembered(maxsize=4096)
def _reaches(nest: Nest) -> tuple[tuple[Buffer, int, int, int], ...]:
    """The same of one nest, read by read."""
    if not any(isinstance(item, Nest) for item in nest.body):
        return ()
    found = []
    for load in (load for load in _over_the_edge(nest) if load.buffer.space == "arena"):
        for dim, part in enumerate(load.index):
            extent = load.buffer.shape[dim]
            if any(g.index == part and g.extent == extent for g in load.guards):
                low, high = part.bounds
                found.append((load.buffer, dim, -low, high - extent + 1))
    return tuple(dict.fromkeys(found))
