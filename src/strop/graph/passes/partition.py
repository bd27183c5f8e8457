"""What a training step keeps between forward and backward: checked changes of a joint graph.

keep{value=layer1.conv1.conv}       forward hands the value to backward
recompute{value=layer1.relu}        backward computes the value again
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.graph.joint import LEAVES, JointGraph


class PartitionPass(Pass, abstract=True):
    """A pass on a joint graph."""

    level: ClassVar[Level] = "partition"


def _known(joint: JointGraph, value: str) -> Verdict:
    node = joint.named.get(value)
    if node is None:
        near = get_close_matches(value, joint.named, 3)
        return no(f"there is no value `{value}`" + (f"; near it: {', '.join(near)}" if near else ""))
    if node.op in LEAVES:
        return no(f"it is `{node.op}`, which both halves have", value)
    if node in joint.late:
        return no("it depends on a tangent: only backward computes it", value)
    return yes()


@dataclass(frozen=True)
class Keep(PartitionPass):
    """backward: y = f(x)   →   forward: y = f(x), kept; backward reads y"""

    value: str

    def check(self, ir: JointGraph) -> Verdict:
        known = _known(ir, self.value)
        if not known:
            return known
        if self.value in ir.kept:
            return no("it is kept already", self.value)
        if self.value not in ir.keepable:
            return no("it is a part of an operator, of which only the result can be kept", self.value)
        if ir.named[self.value] not in ir.keeping(self.value).handed_over:
            return no("backward does not need it", self.value)
        return yes()

    def apply(self, ir: JointGraph) -> JointGraph:
        return ir.keeping(self.value)

    @classmethod
    def apply_all(cls, ir: JointGraph, passes: Sequence[Keep]) -> JointGraph:
        return ir.keeping(*(one.value for one in passes))

    @classmethod
    def space(cls, ir: JointGraph) -> Iterator[Keep]:
        for node in ir.computed_again:
            if (one := cls(node.name)).check(ir):
                yield one


@dataclass(frozen=True)
class Recompute(PartitionPass):
    """forward: y = f(x), kept; backward reads y   →   backward: y = f(x)"""

    value: str

    def check(self, ir: JointGraph) -> Verdict:
        known = _known(ir, self.value)
        if not known:
            return known
        if self.value not in ir.kept:
            return no("it is not kept", self.value)
        reasons = ((node.name, ir.once_only(node)) for node in ir.recomputing(self.value).computed_again)
        return next((no(f"`{name}` would be computed again: {why}", self.value) for name, why in reasons if why), yes())

    def apply(self, ir: JointGraph) -> JointGraph:
        return ir.recomputing(self.value)

    @classmethod
    def apply_all(cls, ir: JointGraph, passes: Sequence[Recompute]) -> JointGraph:
        return ir.recomputing(*(one.value for one in passes))

    @classmethod
    def space(cls, ir: JointGraph) -> Iterator[Recompute]:
        for node in ir.handed_over:
            if (one := cls(node.name)).check(ir):
                yield one
