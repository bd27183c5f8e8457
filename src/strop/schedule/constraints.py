"""What planners may not decide otherwise, said by passes that come before them.

keepapart{a=conv1.conv b=relu}               these two are never fused
pin{tensor=conv1.relu layout=blocked}        a tensor lies in this way
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import ClassVar

from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.loops.lowered import Lowered, reads, writes

#: layouts that a tensor of channels can be pinned to
PINNED = ("channels_last", "blocked")


@dataclass(frozen=True)
class Constraints:
    """Pairs of nests that stay apart, and layouts by tensor; over the nests of a program before they are fused."""

    nests: Lowered
    apart: frozenset[frozenset[str]] = frozenset()
    pinned: Mapping[str, str] = field(default_factory=dict)


class ConstraintPass(Pass, abstract=True):
    """A pass that changes no nest: it says what later planners have to keep to."""

    level: ClassVar[Level] = "constraints"


@dataclass(frozen=True)
class KeepApart(ConstraintPass):
    """two nests that may be fused  →  two that are not"""

    a: str
    b: str

    def check(self, ir: Constraints) -> Verdict:
        names = ir.nests.steps
        for name in (self.a, self.b):
            if name not in names:
                near = get_close_matches(name, names, 3)
                return no(f"there is no nest `{name}`" + (f"; near it: {', '.join(near)}" if near else ""))
        return no("a nest is not fused with itself", self.a) if self.a == self.b else yes()

    def apply(self, ir: Constraints) -> Constraints:
        return replace(ir, apart=ir.apart | {frozenset((self.a, self.b))})

    @classmethod
    def space(cls, ir: Constraints) -> Iterator[KeepApart]:
        """Every pair of which one reads what the other writes."""
        writers = {buffer: step.name for step in ir.nests.nests for buffer in writes(step)}
        for step in ir.nests.nests:
            for buffer in reads(step):
                one = cls(writers.get(buffer, ""), step.name)
                if one.a and frozenset((one.a, one.b)) not in ir.apart and one.check(ir):
                    yield one


@dataclass(frozen=True)
class Pin(ConstraintPass):
    """a tensor whose layout is chosen  →  one that lies channels last, or in blocks of channels"""

    tensor: str
    layout: str

    def check(self, ir: Constraints) -> Verdict:
        if self.layout not in PINNED:
            return no(f"layouts are {' and '.join(PINNED)}, got `{self.layout}`", self.tensor)
        known = ir.nests.tensors
        if self.tensor not in known:
            near = get_close_matches(self.tensor, known, 3)
            return no(f"there is no tensor `{self.tensor}`" + (f"; near it: {', '.join(near)}" if near else ""))
        if not 3 <= len(known[self.tensor].shape) <= 5:
            return no("it has no channels and space", self.tensor)
        return yes()

    def apply(self, ir: Constraints) -> Constraints:
        return replace(ir, pinned={**ir.pinned, self.tensor: self.layout})

    @classmethod
    def space(cls, ir: Constraints) -> Iterator[Pin]:
        for name in ir.nests.tensors:
            for layout in PINNED:
                if (one := cls(name, layout)).check(ir) and ir.pinned.get(name) != layout:
                    yield one
