"""Whether Winograd's algorithm computes a convolution, and with which tiles.

Chosen by cycles that the busiest part of each would take: multiply-adds at the rate of the target, transforms per tile,
and transformed weights that have to come from beyond L2 once per strip of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from strop.graph.integer_valued import is_whole
from strop.graph.ir import Node
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.winograd import axes_of, images_of_strip, winograd, winograd_applies
from strop.target.description import Target

#: cycles per vector of channels and tile for transforming inputs and outputs, by the window's size and dimensions
TRANSFORMS = {(4, 1): (9.0, 7.0), (6, 1): (22.0, 16.0), (4, 2): (50.0, 35.0), (6, 2): (190.0, 130.0)}
EFFICIENCY_DIRECT, EFFICIENCY_PRODUCTS = 0.92, 0.82
#: start-up cost of a group's products, in steps of their sum: with few channels they end before the pipeline is full
SHALLOW = 24.0
#: pixels of a window whose transforms hold no numbers but 0, ±1 and ±1/2: its error is that of the direct algorithm
SMALL_WINDOW = 4
#: input channels from which Winograd is worth a look
FEWEST_CHANNELS = 8
#: tiles of several small images that share a pass over the weights, at most: two register tiles of rows
STRIP_OF_IMAGES = 16


@dataclass(frozen=True)
class Winograd:
    """F(tile, filter): `strip` tiles share a pass over the weights, `block` output channels a set of products."""

    window: int
    tile: tuple[int, ...]
    strip: int
    block: int

    def __call__(self, c: Context) -> Sequence[Nest]:
        return winograd(c, self.window, self.strip, self.block)

    def __str__(self) -> str:
        tile = "×".join(map(str, self.tile))
        return f"Winograd F({tile}), strips of {self.strip} tiles, {self.block} channels at a time"


def choose_winograd(
    node: Node, target: Target, threads: int, all_weights: int, *, always: bool = False, small: bool = False
) -> Winograd | None:
    """The best algorithm for a convolution in a network with so many bytes of weights; None is the direct one, unless
    Winograd's is wanted `always`. With `small`, only its smallest tiles are looked at."""
    if node.op != "conv" or not winograd_applies(node) or is_whole(node.inputs[0]):
        return None
    lanes = target.lanes(node.dtype)
    groups: int = node.attrs["groups"]
    batch, oc = node.shape[:2]
    ic = node.inputs[0].shape[1] // groups
    block = _block(oc // groups, lanes)
    if not block or ic < FEWEST_CHANNELS:
        return None
    rate = lanes * target.fma_per_cycle
    outputs, size = prod(node.shape[2:]), prod(axis.count for axis in axes_of(node))
    direct = batch * outputs * oc * ic * size / rate / EFFICIENCY_DIRECT
    best: tuple[float, Winograd | None] = (inf if always else direct, None)
    for window in (SMALL_WINDOW,) if small else sorted({window for window, _ in TRANSFORMS}):
        axes = [replace(axis, window=window) if axis.tiled else axis for axis in axes_of(node)]
        tiled = [axis for axis in axes if axis.tiled]
        if any(axis.tile < 2 for axis in tiled):
            continue
        points, tiles, phases = (
            window ** len(tiled),
            prod(axis.positions for axis in axes),
            prod(axis.phases for axis in axes),
        )
        depth = prod(axis.sections for axis in axes)
        strip = _strip(batch, tiles, points * depth * ic * groups * 4, target, threads)
        entering, leaving = TRANSFORMS[window, len(tiled)]
        work = batch * phases * tiles * points * depth * ic * oc
        products = work / rate / EFFICIENCY_PRODUCTS * (1 + (SHALLOW / (depth * ic) if groups > 1 else 0.0))
        vectors = depth * -(-ic * groups // lanes) * entering + oc / lanes * leaving
        transforms = batch * phases * tiles * vectors
        weights = phases * points * depth * ic * oc * 4
        level = 1 if weights < target.l2 // 2 else 2 if max(weights, all_weights) < target.l3_ours else 3
        fetched = batch * weights * (tiles / strip) / target.bandwidth[level]
        cycles = transforms + max(products, fetched)
        if cycles < best[0]:
            best = (cycles, Winograd(window, tuple(axis.tile for axis in tiled), strip, block))
    return best[1]


def _block(channels: int, lanes: int) -> int:
    """Output channels of a set of products: two vectors, or what divides them in vectors and half ones; else 0."""
    if channels % lanes == 0:
        return 2 * lanes if channels % (2 * lanes) == 0 else lanes
    halves = [size for size in range(lanes + lanes // 2, 3 * lanes, lanes // 2) if channels % size == 0]
    return max(halves, default=0)


def _strip(batch: int, tiles: int, bytes_per_tile: int, target: Target, threads: int) -> int:
    """Tiles whose transforms fill no more than half of L2, as many as a register tile has rows; a strip per thread. Of
    images that have fewer, several make a strip."""
    most = max(1, target.l2 // 2 // bytes_per_tile)
    images = images_of_strip(batch, tiles, min(STRIP_OF_IMAGES, most, batch * tiles // threads))
    if images > 1:
        return images * tiles
    return max(1, min(12, most, tiles // threads))
