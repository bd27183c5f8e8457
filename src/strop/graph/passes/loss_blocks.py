"""Whether the logits of a cross-entropy exist all at once: checked changes of a joint graph.

blockloss{value=head.linear rows=128}                        128 rows of logits exist at a time
blockloss{value=head.linear rows=128 gradients=backward}     the same, and backward computes them again
wholeloss{value=head.linear}                                 all logits exist
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

from strop.core.passes import Verdict, no, yes
from strop.graph.joint import Half, JointGraph, LossBlocks
from strop.graph.passes.partition import PartitionPass


class LossPass(PartitionPass, abstract=True):
    """A pass that comes before those which say what is kept: it decides which values there are."""


def _known(joint: JointGraph, value: str) -> Verdict:
    loss = joint.losses.get(value)
    if loss is None:
        near = get_close_matches(value, joint.losses, 3) or list(joint.losses)[:3]
        told = f"; there is {', '.join(near)}" if near else ""
        return no(f"`{value}` is not the linear layer of a cross-entropy{told}")
    return no(loss.why, value) if loss.why else yes()


@dataclass(frozen=True)
class BlockLoss(LossPass):
    """y = linear(x); loss = cross_entropy(y)   →   for rows i: y = linear(x[i]); loss += cross_entropy(y)

    Only the logits of `rows` rows exist at a time. Their gradients are computed in forward, up to the factor that comes
    from above, or in backward, from logits that are computed once more.
    """

    value: str
    rows: int
    gradients: Half = "forward"

    def check(self, ir: JointGraph) -> Verdict:
        known = _known(ir, self.value)
        if not known:
            return known
        most = ir.losses[self.value].rows
        if not 1 <= self.rows <= most:
            return no(f"a block has 1 to {most} rows, got {self.rows}", self.value)
        if self.gradients not in ("forward", "backward"):
            return no(f"gradients are computed in forward or backward, not {self.gradients!r}", self.value)
        if ir.blocks.get(self.value) == LossBlocks(self.rows, self.gradients):
            return no("its logits are in such blocks already", self.value)
        return yes()

    def apply(self, ir: JointGraph) -> JointGraph:
        return replace(ir, blocks={**ir.blocks, self.value: LossBlocks(self.rows, self.gradients)})

    @classmethod
    def space(cls, ir: JointGraph) -> Iterator[BlockLoss]:
        """Halves, quarters and so on of the rows, at least 64 of them, with gradients in either half."""
        for value, loss in ir.losses.items():
            rows = loss.rows
            while rows > 64:
                rows = -(-rows // 2)
                for one in (cls(value, rows), cls(value, rows, "backward")):
                    if one.check(ir):
                        yield one


@dataclass(frozen=True)
class WholeLoss(LossPass):
    """for rows i: y = linear(x[i]); loss += cross_entropy(y)   →   y = linear(x); loss = cross_entropy(y)"""

    value: str

    def check(self, ir: JointGraph) -> Verdict:
        known = _known(ir, self.value)
        if not known:
            return known
        return yes() if self.value in ir.blocks else no("its logits are not in blocks", self.value)

    def apply(self, ir: JointGraph) -> JointGraph:
        return replace(ir, blocks={name: one for name, one in ir.blocks.items() if name != self.value})

    @classmethod
    def space(cls, ir: JointGraph) -> Iterator[WholeLoss]:
        yield from map(cls, ir.blocks)
