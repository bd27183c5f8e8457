"""Whether the weights of a product with one vector are kept in 24 bits.

Chosen by cycles: those to fetch a block's weights from the cache level that holds them, and those to expand them to
f32. On cores with 16 vector registers (measured on Zen 3) expanding takes longer: a vector is half as wide as with 512
bits, and ports idle while cache lines arrive. There some vectors stay f32, so that fetching and expanding take about as
long.

Where the weights of a program do not stay in our share of L3 from one run to the next, they come from memory, which
dominates: then the fewest bytes win, read in several streams, because the hardware prefetcher follows each stream
separately. On Zen 3 a sum over memory reads 21 GB/s in one stream and 28 in four, and MobileNetV2's classifier takes
148 µs instead of 176.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.loops.ir import Nest
from strop.loops.lower import Context
from strop.loops.lower.int24_weights import HELD, Int24Weights, int24_product
from strop.loops.lower.products import is_product, sizes_of
from strop.loops.lower.recurrent import GATES, STATES
from strop.target.description import Target

WORTH = 1.05  # times as fast, from which it is taken
MAKING = {"fma": 4, "convert": 4, "shuffle": 3, "logic": 2}  # operations on four vectors
FEW = 16  # registers: no logic on three operands there, which is one operation less
FILLED = 0.7  # share of the ports' cycles that is used with few registers: ports idle while cache lines arrive
STREAMED = 1.4  # measured bandwidth of long streams from L3 there, relative to the target's description
STREAMS, SHORTEST_STREAM = (4, 2), 64  # how many streams, and the terms of each
HELD_BESIDE = 8  # registers for what sums are made of
MOST_SETS = 3


@dataclass(frozen=True)
class Int24Product:
    """A product with one row."""

    shape: Int24Weights

    def __call__(self, c: Context) -> Sequence[Nest]:
        return int24_product(c, self.shape)

    def __str__(self) -> str:
        return str(self.shape)


def choose_int24_row(
    node: Node, target: Target, threads: int, weights: int = 0, *, always: bool = False
) -> Int24Product | None:
    """How weights of a matrix product lie where that takes less time, or `always`; None is as they are. The program's
    are so many bytes."""
    if not is_product(node) or node.dtype != "f32" or not is_parametric(node.inputs[1]):
        return None
    sizes = sizes_of(node)
    own = 4 * sizes.columns * sizes.depth
    far = own > target.l2 * threads and max(own, weights) > target.l3_ours
    worth = 0.0 if always else WORTH
    shape = _choose(1, sizes.columns, sizes.depth, target, threads, worth, far) if sizes.rows == 1 else None
    streams = (n for n in STREAMS if far and sizes.depth % n == 0 and sizes.depth >= n * SHORTEST_STREAM)
    return Int24Product(replace(shape, streams=next(streams, 1))) if shape is not None else None


def choose_int24_states(node: Node, target: Target, threads: int) -> Int24Weights | None:
    """The same for what a recurrent layer applies to its states."""
    batch, weights = node.inputs[0].shape[0 if node.attrs["batch_first"] else 1], node.inputs[STATES[node.op] + 2]
    if batch != 1 or node.types[0].dtype != "f32" or not is_parametric(weights):
        return None
    rows, units = weights.shape
    gates = GATES[node.op]
    if not _few(target):
        return _choose(gates, rows // gates, units, target, threads)
    # threads meet once a step instead of twice; for a last block by itself, which spares guards, they would meet again
    shape = _choose(gates, rows // gates, units, target, threads, worth=WORTH if threads == 1 else 1.0)
    return replace(shape, last=True) if shape is not None and threads == 1 else shape


def _choose(
    gates: int, units: int, depth: int, target: Target, threads: int, worth: float = WORTH, far: bool = False
) -> Int24Weights | None:
    lanes = target.lanes("f32")
    vectors = -(-gates * units // lanes)
    arriving = target.vector_bytes / _rate(4 * gates * units * depth, target, threads, far)
    direct = vectors / threads * depth * max(1 / target.fma_per_cycle, arriving)
    made = ((_cycles(one, gates, units, depth, target, threads, far), one) for one in _candidates(gates, target))
    cycles, best = min(made, key=lambda found: round(found[0]), default=(direct, None))
    return best if worth * cycles < direct else None


def _candidates(gates: int, target: Target) -> Iterator[Int24Weights]:
    """As many sums as there are registers for, the most first: what is read for all of them is read less often."""
    lanes, most = target.lanes("f32"), target.vector_registers - HELD_BESIDE
    for sets in range(MOST_SETS, 0, -1):
        shapes = [Int24Weights(lanes, sets, plain) for plain in range(most if _few(target) else 1)]
        fitting = [one for one in shapes if one.vectors <= most and one.vectors % gates == 0]
        yield from dict.fromkeys((*fitting[-1:], *fitting[:1]))  # with the most beside them, or the fewest


def _cycles(one: Int24Weights, gates: int, units: int, depth: int, target: Target, threads: int, far: bool) -> float:
    blocks = -(-units // (one.block // gates))
    step = (one.sets * HELD + one.plain) * target.vector_bytes
    making = one.sets * _making(target) + one.plain / target.fma_per_cycle
    return -(-blocks // threads) * depth * max(making, step / _rate(blocks * depth * step, target, threads, far))


def _making(target: Target) -> float:
    """Cycles to make four vectors of three, and to multiply them."""
    passes = max(target.vector_bits / target.ports.pipe_bits, 1)
    ports = {port for kind in MAKING for port in target.ports.use(kind, target.vector_bits).ports}
    operations = sum(MAKING.values())
    return operations / FILLED / len(ports) * passes if _few(target) else (operations - 1) / len(ports) * passes


def _rate(size: int, target: Target, threads: int, far: bool) -> float:
    """Bytes per cycle that come from the nearest cache that holds weights which threads share, or from `far` away."""
    if far:
        return target.bandwidth[3]
    held = (target.l1 * threads, target.l2 * threads, target.l3)
    level = next((level for level, most in enumerate(held) if size <= most), len(held))
    return target.bandwidth[level] * (STREAMED if level == 2 and _few(target) else 1)


def _few(target: Target) -> bool:
    return target.vector_registers <= FEW
