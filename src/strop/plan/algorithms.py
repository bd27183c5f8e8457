"""Which algorithm computes an operator, where there is a choice: direct convolution or Winograd's.

Chosen by cycles that the busiest part of each would take: multiply-adds at the rate of the target, transforms per tile,
and transformed weights that have to come from beyond L2 once per strip of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.core.target import Target
from strop.graph.ir import Graph, Node
from strop.graph.whole import is_whole
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.winograd import winograd, winograd_applies

#: cycles per vector of channels and tile for transforming inputs and outputs, by tile size
TRANSFORMS = {2: (50.0, 35.0), 4: (190.0, 130.0)}
EFFICIENCY_DIRECT, EFFICIENCY_PRODUCTS = 0.92, 0.82


@dataclass(frozen=True)
class Winograd:
    """F(tile×tile, 3×3): `strip` tiles share a pass over the weights, `block` output channels a set of products."""

    tile: int
    strip: int
    block: int

    def __call__(self, c: Context) -> Sequence[Nest]:
        return winograd(c, self.tile, self.strip, self.block)

    def __str__(self) -> str:
        return f"Winograd F({self.tile}×{self.tile}), strips of {self.strip} tiles, {self.block} channels at a time"


def choose_algorithm(node: Node, target: Target, threads: int) -> Winograd | None:
    """The best algorithm for a convolution; None is the direct one."""
    if node.op != "conv" or not winograd_applies(node) or is_whole(node.inputs[0]):
        return None
    lanes = target.lanes(node.dtype)
    batch, oc, height, width = node.shape
    ic = node.inputs[0].shape[1]
    if oc % lanes or ic % 8:
        return None
    rate = lanes * target.fma_per_cycle
    best: tuple[float, Winograd | None] = (batch * height * width * oc * ic * 9 / rate / EFFICIENCY_DIRECT, None)
    for tile, (entering, leaving) in TRANSFORMS.items():
        points = (tile + 2) ** 2
        tiles = -(-height // tile) * -(-width // tile)
        strip = _strip(tiles, points * ic * 4, target, threads)
        block = 2 * lanes if oc % (2 * lanes) == 0 else lanes
        products = batch * tiles * points * ic * oc / rate / EFFICIENCY_PRODUCTS
        transforms = batch * tiles * (ic * entering + oc * leaving) / lanes
        weights = points * ic * oc * 4
        level = 1 if weights < target.l2 // 2 else 2 if weights < target.l3 // 2 else 3
        fetched = batch * weights * (tiles / strip) / target.bandwidth[level]
        cycles = transforms + max(products, fetched)
        if cycles < best[0]:
            best = (cycles, Winograd(tile, strip, block))
    return best[1]


def _strip(tiles: int, bytes_per_tile: int, target: Target, threads: int) -> int:
    """Tiles whose transforms fill no more than half of L2, as many as a register tile has rows; a strip per thread."""
    most = max(1, target.l2 // 2 // bytes_per_tile)
    return max(1, min(12, most, tiles // threads))


def choose_algorithms(graph: Graph, target: Target, threads: int) -> dict[Node, Winograd]:
    """The convolutions that are better computed another way than directly."""
    found = {}
    for node in graph.nodes:
        chosen = choose_algorithm(node, target, threads)
        if chosen is not None:
            found[node] = chosen
    return found
