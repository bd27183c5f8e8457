"""What a nest computes and moves: bytes of each buffer that it can touch, operations of its sums of products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strop.core.dtypes import SIZES
from strop.core.extents import Extent, UnknownExtent
from strop.loops.ir import Apply, Buffer, Expr, Load, Nest, Store, loads


def volume(nest: Nest) -> tuple[Extent, Extent]:
    """Bytes read and written: each element counts once, however often it is touched.

    Bounds of the accesses limit it from one side (a window over a part of a tensor), their number from the other (rows
    looked up in a large table), so a nest is never charged for what it cannot reach. Where it depends on the value of a
    symbol which of the two is smaller, the bounds count.
    """
    counts: dict[tuple[Buffer, bool], Extent] = {}
    places: dict[Buffer, list[Load | Store]] = {}
    local = set(nest.all_scratch)
    for access, times in _accesses(nest, 1):
        writes = isinstance(access, Store)
        buffer = access.target if isinstance(access, Store) else access.buffer
        if buffer not in local:
            counts[buffer, writes] = counts.get((buffer, writes), 0) + times
            places.setdefault(buffer, []).append(access)
    moved: list[Extent] = [0, 0]
    for (buffer, writes), times in counts.items():
        reach = _reach(buffer, places[buffer])
        try:
            moved[writes] += min(reach, times * SIZES[buffer.dtype])
        except UnknownExtent:
            moved[writes] += reach
    return moved[0], moved[1]


def footprint(nest: Nest, buffer: Buffer) -> Extent:
    """Bytes of a buffer between the first and the last element that a nest can touch; all of them where that depends
    on the value of a symbol."""
    places: list[Load | Store] = [store for store in nest.stores if store.target == buffer]
    places += [load for store in nest.stores for load in loads(store) if load.buffer == buffer]
    return _reach(buffer, places)


def _reach(buffer: Buffer, places: Sequence[Load | Store]) -> Extent:
    low, high = None, None
    try:
        for place in places:
            a, b = place.offset.bounds
            low = a if low is None else min(low, a)
            high = b if high is None else max(high, b)
        if low is None or high is None:
            return 0
        return min(high - max(low, 0) + 1, buffer.size) * SIZES[buffer.dtype]
    except UnknownExtent:
        return buffer.bytes


def flop(nest: Nest, times: Extent = 1) -> Extent:
    """Operations of the sums of products in a nest: two per multiply-add, by the loops as they are written."""
    times *= nest.iterations
    total: Extent = 0
    for item in nest.body:
        if isinstance(item, Nest):
            total += flop(item, times)
        elif item.reduce == "sum" and _is_product(item.value):
            total += 2 * times
    return total


def _is_product(value: Expr) -> bool:
    return isinstance(value, Apply) and value.op == "mul" and all(any(True for _ in loads(arg)) for arg in value.args)


def _accesses(nest: Nest, times: Extent) -> Iterator[tuple[Load | Store, Extent]]:
    times *= nest.iterations
    for item in nest.body:
        if isinstance(item, Nest):
            yield from _accesses(item, times)
        else:
            yield item, times
            yield from ((load, times) for load in loads(item))
