"""Whether a matrix product is computed by products of pairs, and how.

Chosen by the cycles that each way would take. Two of six multiply-adds become additions. That pays only where additions
run on other ports than multiplications, and where the operands that each of them reads do not make the load ports the
bottleneck. Rows have to be scaled first, a cost that enough columns must amortise. Threads share strips of rows; where
these do not come out even, each takes a share of the columns and scales the rows for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.products import Sizes, is_product, sizes_of
from strop.loops.lower.winograd_inner_product import PARTS, winograd_inner_product
from strop.schedule.builder import balance
from strop.target.description import Target

EFFICIENCY_DIRECT, EFFICIENCY_PAIRS = 0.92, 0.9
WORTH = 1.05  # times as fast, from which it is taken
MULTIPLICATIONS, ADDITIONS = 4, 4  # for six terms
FEWEST_IN_TILE, MOST_ROWS = 4, 14
MOST_SIXES = 32  # of a section of the sum: the weights of a tile then stay in L1
L1_WEIGHTS = 0.75  # of L1, for the weights of a section and the next ones, where each is used at full speed
STEPWISE = 1.25  # times as long scaling takes whose results are written element by element
SCALING, SCALING_SECTION, SCALING_ROW = 8.0, 15.0, 40.0  # cycles per vector of a row, per section and per row
ENDS, SECTION_ENDS = 3.0, 2.0  # cycles per pass over a vector of results, and over one of a section's
TILE = 20.0  # cycles per tile: its last products are waited for
FIRST_TERMS = 40.0  # more, where operations at full speed do not hide that a tile's first terms come from L2
WAITING = 0.3  # of the time that scaled rows take to come from where they are held
MORE_STRIPS = 2  # than rows that fill an eighth of L2 make
HANDED_ON = 2.0  # bytes per cycle of rows that another core has scaled


@dataclass(frozen=True)
class WinogradInnerProduct:
    """`strip` times `rows` rows are scaled at a time, once for each of `shares` equal parts of the columns; `rows` of
    them, `block` columns and `depth` sixes of terms make a tile; scaled rows lie `stepwise` as tiles read them."""

    strip: int
    rows: int
    block: int
    depth: int
    shares: int = 1
    stepwise: bool = False

    def __call__(self, c: Context) -> Sequence[Nest]:
        return winograd_inner_product(c, self.strip, self.rows, self.block, self.depth, self.shares, self.stepwise)

    def __str__(self) -> str:
        tiles = f"tiles of {self.rows} rows and {self.block} columns, {PARTS * self.depth} terms each"
        return f"products of pairs, {tiles}" + (f", columns in {self.shares} shares" if self.shares > 1 else "")


def choose_winograd_inner_product(
    node: Node, target: Target, threads: int, *, always: bool = False
) -> WinogradInnerProduct | None:
    """Products of pairs where they take less time, or wherever they can; None is the direct one."""
    if not is_product(node) or not is_parametric(node.inputs[1]):
        return None
    sizes, lanes = sizes_of(node), target.lanes(node.dtype)
    work = sizes.rows * sizes.depth * sizes.columns
    if not work:
        return None
    direct = max(work / lanes / target.fma_per_cycle / EFFICIENCY_DIRECT, _fetching(sizes, target))
    made = ((_cycles(one, sizes, lanes, target, threads), one) for one in _candidates(sizes, lanes, target, threads))
    cycles, best = min(made, key=lambda found: found[0], default=(direct, None))
    return best if always or WORTH * cycles < direct else None


def _candidates(sizes: Sizes, lanes: int, target: Target, threads: int) -> Iterator[WinogradInnerProduct]:
    """Tiles that fit the registers, in as few strips as L2 allows, or a few more where threads share them."""
    for vectors in (1, 2, 3):
        if sizes.columns % (vectors * lanes):
            continue
        most = MOST_SIXES
        if target.broadcasts_apart:
            most = min(most, int(L1_WEIGHTS * target.l1 / (2 * PARTS * vectors * target.vector_bytes)))
        sections = -(-sizes.depth // (PARTS * most))
        depth = -(-sizes.depth // (PARTS * sections))
        held = 4 * PARTS * depth * sections
        for rows in range(FEWEST_IN_TILE, MOST_ROWS + 1):
            if rows * vectors + PARTS * vectors + 2 > target.vector_registers:
                break
            tiles = -(-sizes.rows // rows)
            if tiles * rows != sizes.rows and not sizes.flat:
                continue
            few, many = (-(-tiles * rows * held // (target.l2 // part)) for part in (2, 8))
            for strips in range(few, min(tiles, max(threads, many + MORE_STRIPS)) + 1):
                strip = -(-tiles // strips)
                if not sizes.flat and strips * strip != tiles:
                    continue
                for shares in range(1, threads + 1):
                    if sizes.columns % (shares * vectors * lanes) == 0:
                        yield WinogradInnerProduct(strip, rows, vectors * lanes, depth, shares, target.broadcasts_apart)


def _cycles(one: WinogradInnerProduct, sizes: Sizes, lanes: int, target: Target, threads: int) -> float:
    """Of all threads together, the time included that some wait for others."""
    strips = -(-sizes.rows // (one.strip * one.rows))
    pieces = strips * one.shares
    rows, vectors = strips * one.strip * one.rows, sizes.columns / lanes
    sections = -(-sizes.depth // (PARTS * one.depth))
    terms = PARTS * one.depth * sections
    step = _step(one.rows, one.block // lanes, target)
    scaled = 1 if 4 * terms * one.strip * one.rows <= target.l2 // 4 else 2
    step += WAITING * 4 * PARTS * one.rows / target.bandwidth[scaled]
    steps = rows / one.rows * sizes.columns / one.block * one.depth * sections
    weights = 4 * terms * sizes.columns
    share = weights / one.shares
    held = 2 if weights <= target.l3_ours else 3
    again = max(pieces / threads - 1, 0) * share / target.bandwidth[held] if weights > target.l2 // 2 else 0.0
    tiles = rows / one.rows * sizes.columns / one.block * sections
    passes = max(target.vector_bits / target.ports.pipe_bits, 1)
    per_vector = passes * (ENDS + (SECTION_ENDS * (sections + 1) if sections > 1 else 0))
    ends = (TILE + (FIRST_TERMS if one.stepwise else 0.0)) * tiles + rows * vectors * per_vector
    scaling = SCALING * (STEPWISE if one.stepwise else 1.0)
    row = scaling * PARTS * -(-one.depth // lanes) * sections + SCALING_SECTION * sections + SCALING_ROW
    products, scaling = steps * step / EFFICIENCY_PAIRS + again + ends, one.shares * rows * row
    products = max(products, (1 if pieces == 1 else threads / one.shares) * _fetching(sizes, target))
    if pieces > 1:
        return (products + scaling) / balance(pieces, threads)
    handed_on = (threads - 1) * 4 * terms * rows / HANDED_ON
    return products / balance(sizes.columns // one.block, threads) + scaling / balance(one.strip, threads) + handed_on


def _fetching(sizes: Sizes, target: Target) -> float:
    """Cycles in which weights that L2 does not hold come from where they are held."""
    weights = 4 * sizes.depth * sizes.columns
    if weights <= target.l2 // 2:
        return 0.0
    return weights / target.bandwidth[2 if weights <= target.l3 // 2 else 3]


def _step(rows: int, vectors: int, target: Target) -> float:
    """Cycles of a step of a tile, six terms of the sum. Instructions read the elements of rows that they use, or share
    what one of its own has read."""
    tile, ports, bits = rows * vectors, target.ports, target.vector_bits
    fma, add, load = (ports.use(kind, bits) for kind in ("fma", "add", "load"))
    multiplying = MULTIPLICATIONS * tile / target.fma_per_cycle
    adding = ADDITIONS * tile * max(bits / ports.pipe_bits, 1) / len(add.ports)
    arithmetic = max(multiplying, adding) if not set(fma.ports) & set(add.ports) else multiplying + adding
    elements = rows if target.broadcasts_apart else tile
    loads = PARTS * (elements + vectors * max(bits / ports.load_bits, 1)) / len(load.ports)
    return max(arithmetic, loads)
