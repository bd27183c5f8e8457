"""Contractions: sums of products. Matrix products and convolutions of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from strop.core.extents import Extent, Shape, bounds
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import ZERO, Index, Var
from strop.loops.ir import Buffer, Expr, Guard, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, lowering, store, zero
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.pointwise import apply

#: names of space dimensions, innermost last
SPACE = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
SHORTEST = 9  # products of a sum that starts with its bias: a window of 3×3 of one channel


def parallel(name: str, extent: Extent) -> Loop:
    return Loop(Var(name, extent))


def reducing(name: str, extent: Extent) -> Loop:
    return Loop(Var(name, extent), "reduce")


def value_of(scratch: Buffer) -> Expr:
    """The value of a 0-d scratch buffer."""
    return Load(scratch, ())


def accumulate(
    acc: Buffer, loops: Sequence[Loop], a: Expr, b: Expr, product: str = "mul", start: Expr | None = None
) -> tuple[Store, Nest]:
    """acc = start + Σ a·b over the loops."""
    begin = zero(acc.dtype) if start is None else start
    return store(acc, (), begin), Nest(tuple(loops), (store(acc, (), apply(product, a, b), "sum"),))


def _product(c: Context) -> str:
    """What is summed up: products of numbers, or of the four bytes in each."""
    return "dot4" if c.node.op.startswith("byte_") else "mul"


def inside(*pairs: tuple[Index, Extent]) -> tuple[Guard, ...]:
    """Guards for 0 ≤ index < extent, without those that always hold."""
    return tuple(guard for guard in (Guard(index, extent) for index, extent in pairs) if not guard.always)


# ---- matrix products -------------------------------------------------------------------------------------------------


@lowering("linear", "byte_linear")
def linear(c: Context) -> list[Nest]:
    shape = c.node.shape
    rows, n = c.loops("m", shape[:-1]), parallel("n", shape[-1])
    k = reducing("k", c.node.inputs[1].shape[1])
    acc = c.scratch("acc", c.dtype)
    start, end = _biased(c, acc, n, k.extent)
    products = accumulate(acc, (k,), c.read(0, *rows, k), c.read(1, n, k), _product(c), start)
    return [c.nest((*rows, n), *products, store(c.out, (*rows, n), end), scratch=(acc,))]


@lowering("matmul")
def matmul(c: Context) -> list[Nest]:
    left, right = (node.shape for node in c.node.inputs)
    shape = c.node.shape
    batch, m, n = c.loops("b", shape[:-2]), parallel("m", shape[-2]), parallel("n", shape[-1])
    k = reducing("k", left[-1])
    acc = c.scratch("acc", c.dtype)
    a = c.read(0, *stretched(batch, left[:-2]), m, k)
    b = c.read(1, *stretched(batch, right[:-2]), k, n)
    loops = (*batch, m, n)
    return [c.nest(loops, *accumulate(acc, (k,), a, b), store(c.out, loops, value_of(acc)), scratch=(acc,))]


def stretched(batch: Sequence[Loop], shape: Shape) -> tuple[Index, ...]:
    """Batch indices of an input whose extents of 1 stretch."""
    aligned = batch[len(batch) - len(shape) :]
    return tuple(as_index(loop) if extent != 1 else ZERO for loop, extent in zip(aligned, shape))


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _convolvable(node: Node) -> Verdict:
    rank = len(node.shape)
    if rank - 2 not in SPACE:
        return no(f"convolution of a {rank}-d tensor; 1, 2 or 3 space dimensions after batch and channels are known")
    return yes()


@lowering("conv", "byte_conv", check=_convolvable)
def conv(c: Context) -> list[Nest]:
    """y[n, oc, o] = bias[oc] + Σ x[n, ic, o·stride + k·dilation - before] · w[oc, ic, k], or its transpose."""
    if not c.attr("transposed"):
        return _direct(c)
    return _spread(c) if _leaves_gaps(c.node) else _transposed(c, _phases(c))


def transposed_without_copies(c: Context) -> list[Nest]:
    """A transposed convolution with its weights as they are: taps that lie side by side would be a copy of them."""
    return _transposed(c, 1)


def _direct(c: Context) -> list[Nest]:
    x, weight = c.node.inputs[0].shape, c.node.inputs[1].shape
    batch, channel, points = _output_loops(c)
    ic = reducing("ic", weight[1])
    taps = tuple(reducing(f"k{axis}", extent) for axis, extent in zip(SPACE[len(points)], weight[2:]))
    place = tuple(
        as_index(o) * stride + as_index(k) * dilation - before
        for o, k, stride, dilation, (before, _) in zip(
            points, taps, c.node.attrs["stride"], c.node.attrs["dilation"], c.node.attrs["padding"]
        )
    )
    group = as_index(channel) // (c.node.shape[1] // c.node.attrs["groups"])
    pixel = c.read(0, batch, group * weight[1] + as_index(ic), *place)
    pixel = guarded(pixel, inside(*zip(place, x[2:])), 0)
    return _convolution(c, (batch, channel, *points), (ic, *taps), pixel, c.read(1, channel, ic, *taps))


def _leaves_gaps(node: Node) -> bool:
    """Whether a transposed convolution has one tap, at every n-th point only: the gradient of a 1×1 convolution with a
    stride."""
    return set(node.inputs[1].shape[2:]) == {1} and max(node.attrs["stride"]) > 1 and len(node.inputs) == 2


def _spread(c: Context) -> list[Nest]:
    """The products of all pixels, then each of them where it belongs, with zeros in between."""
    batch, channel, points = _output_loops(c)
    x = c.node.inputs[0].shape
    ic = reducing("ic", x[1] // c.node.attrs["groups"])
    made = c.temporary("pixels", c.dtype, (x[0], c.node.shape[1], *x[2:]))
    pixels = tuple(parallel(f"i{axis}", extent) for axis, extent in zip(SPACE[len(points)], x[2:]))
    out = c.node.shape[1] // c.node.attrs["groups"]
    source = (as_index(channel) // out) * ic.extent + as_index(ic)
    acc = c.scratch("acc", c.dtype)
    factor = c.read(1, source, as_index(channel) % out, *(ZERO for _ in points))
    products = accumulate(acc, (ic,), c.read(0, batch, source, *pixels), factor, _product(c))
    outer = (batch, channel, *pixels)
    place: list[Index] = []
    guards: list[tuple[Index, Extent]] = []
    for point, extent, stride, (before, _) in zip(points, x[2:], c.node.attrs["stride"], c.node.attrs["padding"]):
        moved = as_index(point) + before
        place.append(moved // stride)
        guards += [(moved % stride, 1), (place[-1], extent)]
    value = guarded(Load(made, (as_index(batch), as_index(channel), *place)), inside(*guards), 0)
    whole = (batch, channel, *points)
    return [
        c.nest(outer, *products, store(made, outer, value_of(acc)), scratch=(acc,), suffix="pixels"),
        c.nest(whole, store(c.out, whole, value)),
    ]


#: neighbours in a row of a transposed convolution that are summed up side by side, and channels from which it pays
MOST_PHASES, FEWEST_CHANNELS = 4, 8


def _transposed(c: Context, phases: int) -> list[Nest]:
    """As a gather: each output point sums over the taps that reach it.

    Tap k reaches point o from pixel (o + before - k·dilation) / stride where that divides. Without dilation those taps
    are (o + before) mod stride + stride·j, so that only ⌈K/stride⌉ taps are visited; with both, every tap is tried.
    Guards on pixels speak of pixels alone, and those on taps of taps, so that layouts and packing can do without them.
    The `stride` neighbours of a row that such a remainder tells apart are summed up side by side: they share pixels.
    """
    batch, channel, points = _output_loops(c)
    if phases > 1:
        points = (*points[:-1], parallel(points[-1].name, points[-1].extent // phases))
    x, weight = c.node.inputs[0].shape, c.node.inputs[1].shape
    ic = reducing("ic", x[1] // c.node.attrs["groups"])
    steps = [
        -(-size // stride) if stride == 1 or dilation == 1 else size
        for size, stride, dilation in zip(weight[2:], c.node.attrs["stride"], c.node.attrs["dilation"])
    ]
    taps = tuple(reducing(f"k{name}", extent) for name, extent in zip(SPACE[len(points)], steps))
    outer, inner = (batch, channel, *points), (ic, *taps)
    starts: list[Store] = []
    sums: list[Store] = []
    stores: list[Store] = []
    nests: list[Nest] = []
    held = [c.scratch(f"acc{phase}" if phases > 1 else "acc", c.dtype) for phase in range(phases)]
    for phase, acc in enumerate(held):
        place = tuple(map(as_index, points))
        if phases > 1:
            place = (*place[:-1], place[-1] * phases + phase)
        pixel, which = _reaching(c, batch, channel, place, ic, taps)
        if phases > 1:
            nests.append(_taps_of_phase(c, phase, taps[-1].extent))
            factor: Expr = Load(nests[-1].writes[0], (*which[:-1], as_index(taps[-1])))
            sizes = zip(which[2:-1], weight[2:-1])
        else:
            factor = c.read(1, *which)
            sizes = zip(which[2:], weight[2:])
        factor = guarded(factor, inside(*sizes), 0)
        start, end = _biased(c, acc, channel, prod(loop.extent for loop in inner))
        starts.append(store(acc, (), start))
        sums.append(store(acc, (), apply(_product(c), pixel, factor), "sum"))
        stores.append(store(c.out, (batch, channel, *place), end))
    return [*nests, c.nest(outer, *starts, Nest(inner, tuple(sums)), *stores, scratch=held)]


def _taps_of_phase(c: Context, phase: int, count: int) -> Nest:
    """The taps of a filter's rows that reach every stride-th point, side by side."""
    shape = c.node.inputs[1].shape
    stride, (before, _) = c.node.attrs["stride"][-1], c.node.attrs["padding"][-1]
    made = c.temporary(f"phase{phase}", c.node.inputs[1].dtype, (*shape[:-1], count))
    loops = tuple(parallel(f"t{i}", extent) for i, extent in enumerate(made.shape))
    tap = as_index(loops[-1]) * stride + (phase + before) % stride
    value = guarded(c.read(1, *loops[:-1], tap), inside((tap, shape[-1])), 0)
    return c.nest(loops, store(made, loops, value), suffix=f"phase{phase}")


def _phases(c: Context) -> int:
    """How many neighbours along the innermost dimension are computed side by side."""
    stride, dilation = c.node.attrs["stride"][-1], c.node.attrs["dilation"][-1]
    several = 1 < stride <= MOST_PHASES and dilation == 1 and c.node.shape[-1] % stride == 0
    return stride if several and c.node.shape[1] // c.node.attrs["groups"] >= FEWEST_CHANNELS else 1


def _reaching(
    c: Context, batch: Loop, channel: Loop, point: Sequence[Index], ic: Loop, taps: Sequence[Loop]
) -> tuple[Expr, tuple[Index, ...]]:
    """The pixel that reaches a point by some taps, and where the factor lies in the weight."""
    x = c.node.inputs[0].shape
    place: list[Index] = []
    which: list[Index] = []
    guards: list[tuple[Index, Extent]] = []
    for axis, (o, tap) in enumerate(zip(point, taps)):
        stride, dilation = c.node.attrs["stride"][axis], c.node.attrs["dilation"][axis]
        moved = o + c.node.attrs["padding"][axis][0]
        if stride == 1 or dilation == 1:
            which.append(moved % stride + as_index(tap) * stride)
            place.append(moved // stride - as_index(tap) * dilation)
        else:
            reached = moved - as_index(tap) * dilation
            which.append(as_index(tap))
            place.append(reached // stride)
            guards.append((reached % stride, 1))
        guards.append((place[-1], x[2 + axis]))
    out = c.node.shape[1] // c.node.attrs["groups"]
    source = (as_index(channel) // out) * ic.extent + as_index(ic)
    pixel = guarded(c.read(0, batch, source, *place), inside(*guards), 0)
    return pixel, (source, as_index(channel) % out, *which)


def _output_loops(c: Context) -> tuple[Loop, Loop, tuple[Loop, ...]]:
    n, oc, *space = c.node.shape
    points = tuple(parallel(f"o{axis}", extent) for axis, extent in zip(SPACE[len(space)], space))
    return parallel("n", n), parallel("oc", oc), points


def _convolution(c: Context, outer: tuple[Loop, ...], inner: tuple[Loop, ...], pixel: Expr, weight: Expr) -> list[Nest]:
    acc = c.scratch("acc", c.dtype)
    start, end = _biased(c, acc, outer[1], prod(loop.extent for loop in inner))
    products = accumulate(acc, inner, pixel, weight, _product(c), start)
    return [c.nest(outer, *products, store(c.out, outer, end), scratch=(acc,))]


def _biased(c: Context, acc: Buffer, channel: Loop, terms: Extent) -> tuple[Expr, Expr]:
    """What a sum of products starts with, and its result.

    A sum that starts with its bias rounds every term to the bias's last digit: a thousand terms of half a digit each
    are lost. So it is added at the end, once; tiles of the shortest sums are 2 to 4% faster if they start with it.
    """
    if len(c.node.inputs) < 3:
        return zero(c.dtype), value_of(acc)
    bias = c.read(2, channel)
    if bounds(terms)[1] <= SHORTEST or c.dtype not in ("f32", "f64"):
        return bias, value_of(acc)
    return zero(c.dtype), apply("add", value_of(acc), bias)
