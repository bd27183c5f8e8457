"""Whether a matrix product is computed by Strassen's seven products of halves, and how.

Chosen by the cycles that each way would take. One multiply-add of eight is saved. Against that stand the sums of rows,
the sums of products, rows that pad the last tile, and weights that are read in seven combinations of their four
quarters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.products import Sizes, sizes_of
from strop.loops.lower.strassen import PRODUCTS, strassen, strassen_applies
from strop.target.description import Target

#: below, what is saved is less than what is spent around it
FEWEST_ROWS, SHORTEST_SUM, FEWEST_COLUMNS = 48, 256, 128
EFFICIENCY_DIRECT, EFFICIENCY_PRODUCTS = 0.92, 0.95
RESULTS = 12.0  # cycles per vector of columns and pair of rows for making four results of seven products
SUMS = 6.0  # the same for making seven sums of four parts of rows
TILE = 40.0  # cycles per tile and product: its last sums are waited for and written
LATE = 0.5  # cycles beyond its latency that a chain of dependent additions takes
LOADS = 0.08  # of a load's time that multiply-adds do not hide
WAITING = 0.05  # of the time that weights and rows take to come from beyond L1, while others are multiplied
MOST_STRIPS = 64
FEWEST_IN_TILE, MOST_ROWS = 4, 14


@dataclass(frozen=True)
class Strassen:
    """`strip` times `rows` pairs of rows share a pass over the weights, `block` pairs of columns a set of products."""

    strip: int
    rows: int
    block: int

    def __call__(self, c: Context) -> Sequence[Nest]:
        return strassen(c, self.strip, self.rows, self.block)

    def __str__(self) -> str:
        return f"Strassen, tiles of {self.rows} pairs of rows and {self.block} pairs of columns"


def choose_strassen(node: Node, target: Target, threads: int, *, always: bool = False) -> Strassen | None:
    """Strassen's product where it takes less time, or wherever it can be used; None is the direct one."""
    if not strassen_applies(node) or not is_parametric(node.inputs[1]):
        return None
    sizes = sizes_of(node)
    if sizes.rows < FEWEST_ROWS or sizes.depth < SHORTEST_SUM or sizes.columns < FEWEST_COLUMNS:
        return None
    lanes = target.lanes(node.dtype)
    direct = sizes.rows * sizes.depth * sizes.columns / lanes / target.fma_per_cycle / EFFICIENCY_DIRECT
    made = ((_cycles(one, sizes, lanes, target, threads), one) for one in _candidates(sizes, lanes, target))
    cycles, best = min(made, key=lambda found: found[0], default=(direct, None))
    return best if always or cycles < direct else None


def _candidates(sizes: Sizes, lanes: int, target: Target) -> Iterator[Strassen]:
    """Tiles that fit the registers, in strips of several sizes."""
    pairs = -(-sizes.rows // 2)
    for vectors in (1, 2, 3, 4):
        if (sizes.columns // 2) % (vectors * lanes):
            continue
        for rows in range(FEWEST_IN_TILE, MOST_ROWS + 1):
            if rows * vectors + min(rows, vectors) + 1 > target.vector_registers:
                break
            tiles = -(-pairs // rows)
            for strip in sorted({-(-tiles // strips) for strips in range(1, min(tiles, MOST_STRIPS) + 1)}):
                covered = 2 * -(-tiles // strip) * strip * rows
                if covered == sizes.rows or (sizes.flat and covered <= 2 * sizes.rows):
                    yield Strassen(strip, rows, vectors * lanes)


def _cycles(one: Strassen, sizes: Sizes, lanes: int, target: Target, threads: int) -> float:
    strips = -(-sizes.rows // (2 * one.strip * one.rows))
    pairs = strips * one.strip * one.rows
    columns, depth = sizes.columns // 2, sizes.depth // 2
    step = _step(one.rows, one.block // lanes, target)
    tiles = PRODUCTS * pairs / one.rows * columns / one.block
    # tiles of a strip read the weights of a product again and again, while those of the next one arrive
    rows, weights = 4 * one.rows / step, 4 * one.block / step
    held = PRODUCTS * one.strip * one.rows * depth * 4
    waits = _waits(weights, depth * one.block * 4, target) + _waits(rows, held, target)
    waits += _waits(weights / one.strip, PRODUCTS * depth * columns * 4, target)
    products = tiles * (depth * step / EFFICIENCY_PRODUCTS * (1 + waits) + TILE)
    passes = max(target.vector_bits / target.ports.pipe_bits, 1)
    ends = pairs * passes * (columns / lanes * RESULTS + depth / lanes * SUMS)
    around = (4 * sizes.rows * size for size in (sizes.depth, sizes.columns))
    moved = sum(size / _rate(size, target) for size in around if size > target.l2 // 2)
    shared = 1 if strips == 1 else strips / (-(-strips // threads) * threads)
    return (products + ends + moved) / shared


def _step(rows: int, vectors: int, target: Target) -> float:
    """Cycles of a step of a tile: multiply-adds, and loads of a row's element each and of the block's vectors."""
    loads = rows / 2 + vectors * target.vector_bytes / target.bandwidth[0]
    return max(rows * vectors / target.fma_per_cycle, loads, target.fma_latency + LATE) + LOADS * loads


def _waits(rate: float, held: int, target: Target) -> float:
    """How much longer steps take that read so many bytes per cycle from where so many are held."""
    used = rate / _rate(held, target)
    return max(used - 1, 0) + (WAITING * used if held > _beside(target) else 0)


def _beside(target: Target) -> int:
    """What L1 holds beside rows and results."""
    return 5 * target.l1 // 8


def _rate(size: int, target: Target) -> float:
    """Bytes per cycle from where so many bytes are held."""
    levels = ((0, _beside(target)), (1, 7 * target.l2 // 10), (2, target.l3 // 2))
    return target.bandwidth[next((level for level, held in levels if size <= held), 3)]
