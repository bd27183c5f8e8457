"""Reads and writes whose place is data. The generated code checks every such index and raises as eager does."""

from __future__ import annotations

from collections.abc import Sequence

from strop.core.extents import Extent, Shape
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, Var, indirect
from strop.loops.ir import Apply, Const, Expr, Loop, Nest
from strop.loops.lower import Context, as_index, extent_value, lowering, store
from strop.loops.lower.pointwise import apply

SCATTER = {None: None, "add": "sum", "mul": "prod", "amax": "max", "amin": "min"}


def integer_indices(node: Node) -> Verdict:
    """Masks select a number of elements that only the data knows."""
    first = 2 if node.op == "index_put" else 1
    count = 1 if node.op in ("gather", "scatter", "embedding") else len(node.inputs) - first
    for index in node.inputs[first : first + count]:
        if index.dtype not in ("i32", "i64"):
            return no(f"an index of dtype {index.dtype} is not a position")
    return yes()


def along_a_dimension(node: Node) -> Verdict:
    if not node.inputs[0].shape or len(node.inputs[0].shape) != len(node.inputs[1].shape):
        return no(f"{node.op} of a 0-d tensor has no dimension to go along")
    return integer_indices(node)


def known_mode(node: Node) -> Verdict:
    if node.attrs.get("reduce") not in SCATTER:
        return no(f"scatter with reduce={node.attrs['reduce']!r} has no lowering")
    if not node.attrs.get("include_self", True):
        return no("scatter that leaves out the old values has no lowering")
    return along_a_dimension(node)


def wrapped(position: Expr, extent: Extent, known: Sequence[int] = ()) -> Index:
    """A position that counts from the end when it is negative; nothing is to be checked of those that are known."""
    if known and all(0 <= place < extent for place in known):
        return indirect(position, extent, sure=True)
    from_end = apply("add", position, extent_value(extent, position.dtype))
    negative = apply("lt", position, Const(0, position.dtype))
    return indirect(Apply("where", (negative, from_end, position), position.dtype), extent)


def _values(index: Node) -> Sequence[int]:
    """The positions of an index that is a constant."""
    values = index.attrs["values"] if index.op == "constant" else ()
    return values if all(isinstance(place, int) for place in values) else ()


def _are_nodes(index: Node, rows: int) -> bool:
    """Whether positions are those of trees' nodes, of which there is one per row."""
    return index.op == "walk_trees" and index.inputs[1].shape[0] == rows


class IndexedPlaces:
    """How `index` and `index_put` walk: loops over what is not indexed, around loops over the index tensors."""

    def __init__(self, c: Context, shape: Shape, first: int, kind: str) -> None:
        self.dims: Sequence[int] = c.node.attrs["dims"]
        start, stop = self.dims[0], self.dims[-1] + 1
        indices = c.node.inputs[first:]
        rank = max(len(index.shape) for index in indices)
        among: list[Extent] = [1] * rank
        for index in indices:
            for d, extent in enumerate(index.shape, start=rank - len(index.shape)):
                among[d] = extent if among[d] == 1 else among[d]
        before = [Loop(Var(f"i{d}", shape[d])) for d in range(start)]
        chosen = [Loop(Var(f"p{d}", extent), kind) for d, extent in enumerate(among)]
        after = [Loop(Var(f"i{d}", shape[d])) for d in range(stop, len(shape))]
        positions = []
        for which, dim in enumerate(self.dims):
            extents = indices[which].shape
            aligned = chosen[rank - len(extents) :]
            here = [loop if extent != 1 else 0 for loop, extent in zip(aligned, extents)]
            positions.append(wrapped(c.read(first + which, *here), shape[dim], _values(indices[which])))
        #: over the result of `index`, or over the written values of `index_put`
        self.loops = [*before, *chosen, *after]
        #: where in x
        self.element = [*map(as_index, before), *positions, *map(as_index, after)]


@lowering("index", check=integer_indices)
def index(c: Context) -> list[Nest]:
    places = IndexedPlaces(c, c.node.inputs[0].shape, 1, "parallel")
    return [c.nest(places.loops, store(c.out, places.loops, c.read(0, *places.element)))]


@lowering("gather", check=along_a_dimension)
def gather(c: Context) -> list[Nest]:
    loops = c.loops("i", c.node.shape)
    element = _along(c, loops, c.node.inputs[0].shape)
    return [c.nest(loops, store(c.out, loops, c.read(0, *element)))]


@lowering("embedding", check=integer_indices)
def embedding(c: Context) -> list[Nest]:
    rows, *width = c.node.inputs[0].shape
    chosen = c.loops("p", c.node.inputs[1].shape)
    across = c.loops("i", width)
    known = _values(c.node.inputs[1])
    inside = bool(known) and all(0 <= place < rows for place in known)
    row = indirect(c.read(1, *chosen), rows, sure=inside or _are_nodes(c.node.inputs[1], rows))
    return [c.nest((*chosen, *across), store(c.out, (*chosen, *across), c.read(0, row, *across)))]


@lowering("index_put", check=integer_indices)
def index_put(c: Context) -> list[Nest]:
    """A copy, then the writes in order: where positions repeat, the last one stays."""
    places = IndexedPlaces(c, c.node.shape, 2, "sequential")
    if any(loop.extent == 0 for loop in places.loops):
        return [_copy(c)]
    shape = c.node.inputs[1].shape
    aligned = places.loops[len(places.loops) - len(shape) :]
    value = c.read(1, *(loop if extent != 1 else 0 for loop, extent in zip(aligned, shape)))
    reduce = _combine("sum" if c.node.attrs["accumulate"] else None, c.dtype)
    return [_copy(c), c.nest(places.loops, store(c.out, places.element, value, reduce), suffix="put")]


@lowering("scatter", check=known_mode)
def scatter(c: Context) -> list[Nest]:
    """A copy, then the writes; only those along `dim` can meet, so only they go in order."""
    shape = c.node.inputs[1].shape
    if 0 in shape:
        return [_copy(c)]
    dim = c.node.attrs["dim"] % len(shape)
    loops = [Loop(Var(f"i{d}", extent), "sequential" if d == dim else "parallel") for d, extent in enumerate(shape)]
    reduce = _combine(SCATTER[c.node.attrs.get("reduce")], c.dtype)
    element = _along(c, loops, c.node.shape)
    return [_copy(c), c.nest(loops, store(c.out, element, c.read(2, *loops), reduce), suffix="put")]


def _along(c: Context, loops: Sequence[Loop], shape: Shape) -> list[Index]:
    """The loops' own index, with the position read from input 1 along the node's `dim`."""
    element = list(map(as_index, loops))
    dim = c.node.attrs["dim"] % len(element)
    element[dim] = indirect(c.read(1, *loops), shape[dim])
    return element


def _combine(reduce: str | None, dtype: str) -> str | None:
    if dtype != "bool":
        return reduce
    return {None: None, "sum": "any", "prod": "all", "max": "any", "min": "all"}[reduce]


def _copy(c: Context) -> Nest:
    loops = c.loops("i", c.node.shape)
    return c.nest(loops, store(c.out, loops, c.read(0, *loops)), suffix="copy")
