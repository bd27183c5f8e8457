"""Sorting few elements: each finds its place by counting those that come before it.

That is one comparison per pair of elements, all of them independent of each other, and it is exact: equal elements keep
their order, and NaN is the largest number, as in torch. A call of the library takes some tens of microseconds however
little there is to sort, and ends fusion.
"""

from __future__ import annotations

from strop.core.dtypes import is_float
from strop.frontend.torch.aten.indexing import gather
from strop.frontend.torch.aten.views import wrap
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node

#: sorting more than this is left to the library: comparing all pairs grows with the square
FEW = 32


@aten("sort")
def sort(b: Builder, x: Node, dim: int = -1, descending: bool = False) -> tuple[Node, ...]:
    if not x.type.rank:
        return x, b.full(0, "i64")
    dim = wrap(dim, x.type.rank)
    if x.shape[dim] > FEW:
        raise Unfit(f"it sorts {x.shape[dim]} elements: more than {FEW} are sorted by the library")
    places = b.swap(_order(b, b.swap(x, dim, -1), descending), dim, -1)
    return gather(b, x, dim, places), places


@aten("sort.stable")
def stable_sort(
    b: Builder, x: Node, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Node, ...]:
    """All of torch's sorting on CPUs is stable."""
    return sort(b, x, dim, descending)


def _order(b: Builder, x: Node, descending: bool) -> Node:
    """Along the last dimension: which element comes first, second, and so on."""
    x = b.cast(x, "i32") if x.dtype == "bool" else x
    last, extent = x.type.rank, x.shape[-1]
    places = b.arange(extent)
    counted = b.cast(_comes_before(b, b.unsqueeze(x, last - 1), b.unsqueeze(x, last), descending), "i64")
    ranks = b.reduce("sum", counted, (last,))
    mine = b.compare("eq", b.unsqueeze(ranks, last - 1), b.reshape(places, (extent, 1)))
    return b.reduce("sum", b.where(mine, places, 0), (last,))


def _comes_before(b: Builder, other: Node, mine: Node, descending: bool) -> Node:
    """Whether `other`, along the last dimension, comes before `mine`, along the one in front of it."""
    extent = other.shape[-1]
    places = b.arange(extent)
    earlier = b.compare("lt", b.reshape(places, (1, extent)), b.reshape(places, (extent, 1)))
    low, high = (mine, other) if descending else (other, mine)
    before, equal = b.compare("lt", low, high), b.compare("eq", other, mine)
    if is_float(other.dtype):
        low_is_nan, high_is_nan = b.compare("ne", low, low), b.compare("ne", high, high)
        before = b.binary("or", before, b.binary("and", b.unary("not", low_is_nan), high_is_nan))
        equal = b.binary("or", equal, b.binary("and", low_is_nan, high_is_nan))
    return b.binary("or", before, b.binary("and", equal, earlier))
