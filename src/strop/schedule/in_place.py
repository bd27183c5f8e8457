"""Depthwise windows over images that the caller keeps channels first, read and written where they lie.

Channels last, every image is copied and turned at the border, which takes longer than a depthwise convolution itself.
One channel after the other, vectors lie along the lines of the image as it is. The cost model compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from strop.loops.analysis import Contraction, contraction
from strop.loops.ir import Buffer, Nest
from strop.loops.lowered import Lowered, Step, reads, writes

MUST_SAVE = 0.1  # of the cycles: less is within the model's error

Price = Callable[[Nest], float]


def in_place(lowered: Lowered, price: Price, laid_out: Callable[[Lowered], Lowered]) -> set[Buffer]:
    """The tensors of the caller that stay as they are. `laid_out` says what a program becomes otherwise."""
    kept: set[Buffer] = set()
    for step in lowered.nests:
        if not isinstance(step, Nest) or not _alone(step, lowered.nests, (*lowered.layouts, *lowered.channels_last)):
            continue
        found = contraction(step)
        if found is None or not _depthwise(found):
            continue
        copied = laid_out(replace(lowered, nests=(step,)))
        otherwise = sum(price(one) for one in copied.nests if isinstance(one, Nest))
        if len(copied.nests) > 1 and price(step) < (1 - MUST_SAVE) * otherwise:
            kept |= {b for b in (*step.reads, *step.writes) if b.space in ("input", "output")}
    return kept


def _alone(nest: Nest, steps: Sequence[Step], placed: Collection[str]) -> bool:
    """Whether a nest moves images of the caller only, which no other step touches and which lie channels first."""
    moved = [b for b in (*nest.reads, *nest.writes) if b.space not in ("param", "packed", "scratch")]
    if any(b.space not in ("input", "output") or b.name in placed for b in moved):
        return False
    return not any(b in moved for step in steps if step is not nest for b in (*reads(step), *writes(step)))


def _depthwise(found: Contraction) -> bool:
    """Whether sums go over places of one channel's image, in steps of one pixel."""
    images = [load for load in found.operands if load.buffer.space == "input" and len(load.buffer.shape) > 2]
    inner = {loop.var for loop in found.inner.loops if loop.extent > 1}
    if not inner or len(images) != 1 or len(found.operands) > 2 or images[0].index[1].vars & inner:
        return False
    line = images[0].index[-1]
    return any(line.coefficient(loop.var) == 1 for loop in found.nest.loops)
