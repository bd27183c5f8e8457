"""Whether the logits of a cross-entropy exist all at once, or some rows at a time.

All logits are written and read about eight times between the products that make and use them (twice as a log-softmax
that backward reads), and up to three tensors of their size exist. In blocks, a softmax takes the place of its logits,
which are six times and one tensor; but every block reads the weight twice, and reads and writes its gradient. The
weight is packed once, not in both halves. What forward computes of its gradient is kept, and multiplied in backward by
the factor that comes from above.

With 512 rows of 768 and 50,257 words on one core of a Zen 5, the products and what is between them take 517 ms with all
logits, 481 ms as one block, and 502, 519 and 579 ms as 2, 4 and 8 blocks: 14 ms for each more, which is what three of
the four sweeps over the weight take; the products hide the other. 2,048 rows take 2,155 ms, 1,960 ms as 4 blocks and
2,138 ms as one, whose gradient of x does not stay in L2.
"""

from __future__ import annotations

from collections.abc import Sequence

from strop.core.journal import Journal
from strop.core.options import Memory
from strop.core.passes import Pass
from strop.graph.joint import Half, JointGraph, LinearLoss, LossBlocks
from strop.graph.passes.loss_blocks import BlockLoss, LossPass
from strop.schedule.rematerialization import SLOWER, Rematerialization
from strop.target.description import Target

#: rows of a block at least: products of fewer rows are slower by themselves. A loss of fewer than twice as many is left
FEWEST_ROWS = 64
#: times that all logits are moved, and those of blocks
_WHOLE, _BLOCKED = 8, 6
#: of the bytes that a block's sweeps over the weight move, the part that products do not hide
_SHOWN = 0.75
#: of the time that "balanced" may give for memory, the part that blocks may take
_SHARE = 0.5


def plan_losses(
    joint: JointGraph, target: Target, memory: Memory, journal: Journal, edits: Sequence[Pass] = ()
) -> tuple[JointGraph, list[Pass]]:
    """The joint graph with blocks for the logits of its losses where they pay, and the passes that chose them. `edits`
    are passes by hand."""
    passes: list[Pass] = []
    costs = Rematerialization(joint, target) if any(not loss.why for loss in joint.losses.values()) else None
    for value, loss in joint.losses.items():
        if loss.why or costs is None:
            journal.add("refusal", value, f"blockloss: all logits have to exist: {loss.why}", reason=loss.why)
            continue
        choice = _Choice(loss, costs, memory)
        chosen = choice.blocks()
        if isinstance(chosen, str):
            journal.add("refusal", value, f"blockloss: {chosen}", reason=chosen)
            continue
        one = BlockLoss(value, chosen.rows, chosen.gradients)
        passes.append(one)
        journal.add(
            "choice", value, f"{one}: {chosen.rows} of {loss.rows} rows of logits exist at a time, "
            f"{choice.block_bytes(chosen.rows)} bytes of {loss.logits_bytes}; that takes about "
            f"{round(choice.cycles(chosen)):+} cycles", bytes=choice.block_bytes(chosen.rows),
            cycles=round(choice.cycles(chosen)),
        )  # fmt: skip
    passes = [one for one in passes if one not in edits]  # by hand the same was said, which is no mistake
    for each in (*passes, *edits):
        joint = each(joint)
    return joint, [*passes, *edits]


def of_losses(edits: Sequence[Pass]) -> tuple[list[Pass], list[Pass]]:
    """Passes by hand on a joint graph: those on its losses, which come first, and the others."""
    losses: list[Pass] = [one for one in edits if isinstance(one, LossPass)]
    return losses, [one for one in edits if not isinstance(one, LossPass)]


class _Choice:
    """What blocks of one loss would take, and which are chosen."""

    def __init__(self, loss: LinearLoss, costs: Rematerialization, memory: Memory) -> None:
        self.loss, self.costs, self.memory = loss, costs, memory
        self.target = costs.target

    def blocks(self) -> LossBlocks | str:
        """The blocks, or why there are none."""
        loss = self.loss
        if loss.logits_bytes <= self.target.l3_ours:
            return f"the cache holds all logits, {loss.logits_bytes} bytes"
        if loss.rows < 2 * FEWEST_ROWS:
            return f"there are {loss.rows} rows, and blocks have {FEWEST_ROWS} at least"
        needed = self._for_budget()
        if needed is not None:
            return self._smallest(needed, self._allowance)
        return self._smallest("forward", self._allowance if self.memory == "balanced" else 0.0)

    @property
    def _allowance(self) -> float:
        return SLOWER * _SHARE * self.costs.step

    def _for_budget(self) -> Half | None:
        """Where a budget is less than what the fastest step keeps: the half in which gradients are to be computed."""
        if isinstance(self.memory, str):
            return None
        kept = self.costs.cut().bytes
        if kept <= self.memory:
            return None
        of_weight = self.loss.weight_bytes if "weight" in self.loss.gradients else 0
        fits = of_weight < self.loss.logits_bytes and kept - self.loss.logits_bytes + of_weight <= self.memory
        return "forward" if fits else "backward"

    def _smallest(self, gradients: Half, limit: float) -> LossBlocks:
        """The smallest blocks that take at most so many cycles more than all logits, products apart; or one."""
        rows = self.loss.rows
        for count in range(rows // FEWEST_ROWS, 1, -1):
            if self.cycles(LossBlocks(-(-rows // count))) <= limit:
                return LossBlocks(-(-rows // count), gradients)
        return LossBlocks(rows, gradients)

    def block_bytes(self, rows: int) -> int:
        return rows * self.loss.words * self.loss.item_bytes

    def cycles(self, blocks: LossBlocks) -> float:
        """What blocks take more than all logits."""
        loss = self.loss
        sweeps = 1 + ("x" in loss.gradients) + 2 * ("weight" in loss.gradients)
        moved = _SHOWN * (-(-loss.rows // blocks.rows) - 1) * sweeps * loss.weight_bytes
        moved -= (_WHOLE - _BLOCKED) * loss.logits_bytes + 2 * loss.weight_bytes
        if blocks.gradients == "forward":
            return moved / self.target.bandwidth[3]
        lanes = self.target.lanes("f32") * 4 // loss.item_bytes
        product = loss.rows * loss.words * loss.width / (self.target.fma_per_cycle * lanes)
        return moved / self.target.bandwidth[3] + product
