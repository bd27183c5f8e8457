"""Whether Winograd's algorithm, transposed, computes the gradient of a filter, and in which strips and blocks.

Chosen by cycles, as for the convolution itself: multiply-adds at the rate of the target, transforms per tile and per
pair of channels, and what goes through memory beyond L2 on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.graph.ir import Node
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.winograd_weight_gradient import POINTS, tiles_of, winograd_gradient, winograd_gradient_applies
from strop.target.description import Target

#: cycles per vector of channels and tile for transforming pixels and gradients, and per vector of pairs for the taps
PIXELS, GRADIENTS, TAPS = 50.0, 30.0, 90.0
EFFICIENCY_DIRECT, EFFICIENCY_PRODUCTS = 0.8, 0.8
#: what a product costs besides its steps, in steps: it loads and stores its sums
SHALLOW = 4.0
#: channels of a block along both sides where all tiles are transformed first
MOST_CHANNELS = 64
#: tiles of a strip, at least
FEWEST_TILES = 32


@dataclass(frozen=True)
class WinogradGradient:
    """Strips of `rows` rows of tiles of `images` images; blocks of `outputs` × `inputs` channels."""

    images: int
    rows: int
    outputs: int
    inputs: int

    def __call__(self, c: Context) -> Sequence[Nest]:
        return winograd_gradient(c, self.images, self.rows, self.outputs, self.inputs)

    def __str__(self) -> str:
        return (
            f"gradient by Winograd's algorithm, {self.rows} rows of tiles of {self.images} images at a time, "
            f"{self.outputs}×{self.inputs} channels"
        )


def choose_winograd_gradient(
    node: Node, target: Target, threads: int, *, always: bool = False
) -> WinogradGradient | None:
    """The best numbers for the gradient of a filter; None where direct sums are faster, unless `always`.

    Several threads sum directly: strips follow each other, each too short to be shared, and tiles that are all
    transformed first are read by the core that did not write them. On two threads of a Zen 5, ResNet-18's step takes
    41.9 ms with direct sums and 47.2 with this algorithm, a UNet's 17.7 and 21.4."""
    if not winograd_gradient_applies(node):
        return None
    lanes = target.lanes(node.dtype)
    x, dy = (one.shape for one in node.inputs)
    outputs, inputs, *taps = node.shape
    rate = lanes * target.fma_per_cycle
    direct = x[0] * dy[2] * dy[3] * outputs * inputs * taps[0] * taps[1] / rate / EFFICIENCY_DIRECT
    images, rows, along = tiles_of(node)
    tiles = images * rows * along
    moved = 4 * POINTS * (x[1] + dy[1])  # bytes of a transformed tile
    sums = 4 * POINTS * outputs * inputs
    groups: int = node.attrs["groups"]
    transforms = tiles * (-(-x[1] // lanes) * PIXELS + -(-dy[1] // lanes) * GRADIENTS)
    back = outputs * -(-inputs // lanes) * TAPS
    if threads == 1 and sums <= target.l2 // 2:
        strip = max(target.l2 // 4 // moved, FEWEST_TILES)
        chosen = WinogradGradient(*_strip(images, rows, along, strip), outputs // groups, inputs)
        depth = chosen.images * chosen.rows * along
        passing = 0.0
    else:
        chosen = WinogradGradient(images, rows, *(_block(count) for count in (outputs // groups, inputs)))
        depth = tiles
        blocks = max(outputs // groups // chosen.outputs, inputs // chosen.inputs)
        passing = tiles * moved * (1 + blocks / 2) / target.bandwidth[2]
    vectors = -(-inputs // lanes) * lanes
    products = POINTS * tiles * outputs * vectors / rate / EFFICIENCY_PRODUCTS * (1 + SHALLOW / depth)
    pays = threads == 1 and transforms + back + passing + products < direct
    return chosen if always or pays else None


def _strip(images: int, rows: int, along: int, tiles: int) -> tuple[int, int]:
    """Whole rows of tiles, of several images where one has too few."""
    if rows * along <= tiles:
        return max(d for d in _divisors(images) if d * rows * along <= tiles), rows
    return 1, max((d for d in _divisors(rows) if d * along <= tiles), default=1)


def _block(channels: int) -> int:
    return max(d for d in _divisors(channels) if d <= MOST_CHANNELS)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
