"""Gradients of filters: sums over the places of images.

    parallel oc in 64, ic in 32, kh in 4, kw in 4:
      reduce n in 16, oh in 16, ow in 16:
        acc[] += x[n, ic, 2·oh + kh - 1, 2·ow + kw - 1] * dy[n, oc, oh, ow]
      w[oc, ic, kh, kw] = acc[]

Filters lie with their taps innermost, so that lanes of channels would be written one by one: the sums are made with
channels innermost, and turned as a whole. Every few filters read all images once more. Where L2 may not hold these,
sums over some of them, or over some rows of one, come first, and then the sum of those. Threads share the images as
they do where images are made.

    parallel n in 8, block in 1, kh in 4, kw in 4, oc in 64, ic in 32:
      reduce image in 2, oh in 16, ow in 16:
        acc[] += x[2·n + image, …] * dy[2·n + image, …]
      parts[n, block, kh, kw, oc, ic] = acc[]
    parallel oc in 64, ic in 32, kh in 4, kw in 4:
      w[oc, ic, kh, kw] = Σ parts[n, block, kh, kw, oc, ic]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from strop.core.dtypes import SIZES
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.ir import Load, Loop, Nest
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import SPACE, accumulate, inside, parallel, reducing, value_of
from strop.loops.lower.reductions import at, fold

PART_BYTES = 1 << 18  # of images that a part reads: a small L2 holds them
SHARE = 4  # how many times as many bytes of images as of filters a part reads at least


def _same_space(node: Node) -> Verdict:
    rank = len(node.inputs[0].shape)
    if rank - 2 not in SPACE:
        return no(f"convolution of a {rank}-d tensor; 1, 2 or 3 space dimensions after batch and channels are known")
    return yes()


@lowering("conv_weight_grad", check=_same_space)
def conv_weight_grad(c: Context) -> list[Nest]:
    """w[oc, ic, k] = Σ x[n, ic, o·stride + k·dilation - before] · dy[n, oc, o] over images and output points."""
    x, dy = (node.shape for node in c.node.inputs)
    space = SPACE[len(x) - 2]
    channel, ic = parallel("oc", c.node.shape[0]), parallel("ic", c.node.shape[1])
    taps = tuple(parallel(f"k{axis}", extent) for axis, extent in zip(space, c.node.shape[2:]))
    parts = _parts(c.node)
    batch = reducing("n", x[0] if parts is None else parts.images)
    points = tuple(reducing(f"o{axis}", extent) for axis, extent in zip(space, dy[2:]))
    image, here = as_index(batch), list(map(as_index, points))
    outer: tuple[Loop, ...] = (channel, ic, *taps)
    if parts is not None:
        points = (reducing(points[0].name, parts.rows), *points[1:])
        group, block = parallel("part", x[0] // parts.images), parallel("block", dy[2] // parts.rows)
        image = as_index(group) * parts.images + image
        here[0] = as_index(block) * parts.rows + as_index(points[0])
        outer = (group, block, *taps, channel, ic)
    place = tuple(
        o * stride + as_index(k) * dilation - before
        for o, k, stride, dilation, (before, _) in zip(
            here, taps, c.node.attrs["stride"], c.node.attrs["dilation"], c.node.attrs["padding"]
        )
    )
    group_of = as_index(channel) // (c.node.shape[0] // c.node.attrs["groups"])
    pixel = c.read(0, image, group_of * c.node.shape[1] + as_index(ic), *place)
    pixel = guarded(pixel, inside(*zip(place, x[2:])), 0)
    acc = c.scratch("acc", c.dtype)
    products = accumulate(acc, (batch, *points), pixel, c.read(1, image, channel, *here))
    if parts is None:
        return [c.nest(outer, *products, store(c.out, outer, value_of(acc)), scratch=(acc,))]
    made = c.temporary("parts", c.dtype, [loop.extent for loop in outer])
    first = c.nest(outer, *products, store(made, outer, value_of(acc)), scratch=(acc,), suffix="parts")
    total = c.scratch("total", c.dtype)
    walked = tuple(reducing(f"r{i}", extent) for i, extent in enumerate(made.shape[:2]))
    body = fold(total, walked, Load(made, tuple(map(as_index, (*walked, *taps, channel, ic)))), "sum")
    whole = (channel, ic, *taps)
    return [first, c.nest(whole, *body, store(c.out, whole, at(total)), scratch=(total,))]


@dataclass(frozen=True)
class _ImageParts:
    """How many images a part has, and how many rows of the result."""

    images: int
    rows: int


def _parts(node: Node) -> _ImageParts | None:
    """How images are divided: all in one part where they are small beside the filters. None for filters of one tap that
    are summed up in one go, and where there is nothing to sum up."""
    x, dy = (one.shape for one in node.inputs)
    if not all(isinstance(extent, int) for extent in (*x, *dy)):
        return None
    whole = _ImageParts(x[0], dy[2]) if prod(node.shape[2:]) > 1 and prod(x) and prod(dy) else None
    item = SIZES[node.types[0].dtype]
    least = max(PART_BYTES, SHARE * prod(node.shape) * item)
    image = (prod(x[1:]) + prod(dy[1:])) * item
    if x[0] * image < 2 * least:
        return whole
    images = _divisor(x[0], least // image)
    rows = _divisor(dy[2], least * dy[2] // image) if images == 1 else dy[2]
    parts = _ImageParts(images, rows)
    return parts if parts != _ImageParts(x[0], dy[2]) else whole


def _divisor(extent: int, wanted: int) -> int:
    """The largest divisor up to what is wanted, if that is half of it at least; otherwise the next larger one."""
    wanted = min(wanted, extent)
    divisors = [by for by in range(1, extent + 1) if extent % by == 0]
    below = max((by for by in divisors if by <= wanted), default=1)
    return below if 2 * below >= wanted else next(by for by in divisors if by > below)
