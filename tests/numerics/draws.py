"""Inputs of every kind: scales that lie far apart by row, column, sample or channel, outliers, zeros, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

KINDS = ("normal", "positive", "constant", "counts", "sparse", "ladder")
HIGHEST = 2.0**121  # of a sum of products
#: powers of ten between which an axis is scaled, index by index
SPANS = ((0.0, 0.0), (0.0, 0.0), (-4.0, 4.0), (-15.0, 3.0), (-30.0, 15.0))


@dataclass(frozen=True)
class Fill:
    """How a tensor is filled. It prints in a failing example, and makes the same tensor again."""

    kind: str = "normal"
    seed: int = 0
    value: float = 0.1  #: of a constant
    spans: tuple[tuple[float, float], ...] = ()  #: of the first axes
    outliers: float = 1.0  #: what some channels (of the last axis) are multiplied by
    zeros: bool = False  #: whether some rows are zero
    scale: float = 1.0

    @property
    def constant(self) -> bool:
        return self.kind == "constant"

    def tensor(self, shape: Sequence[int]) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        made = self._base(tuple(shape), generator)
        for axis, (low, high) in enumerate(self.spans[: len(shape)]):
            powers = torch.rand(shape[axis], generator=generator, dtype=torch.float64) * (high - low) + low
            made *= (10**powers).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        if shape and self.outliers != 1.0:
            made[..., torch.randint(shape[-1], (2,), generator=generator)] *= self.outliers
        if self.zeros and shape:
            made[torch.rand(shape[0], generator=generator) < 0.3] = 0
        return (made * self.scale).clamp(-HIGHEST, HIGHEST).float()

    def _base(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        def rand() -> Tensor:
            return torch.rand(shape, generator=generator, dtype=torch.float64)

        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        match self.kind:
            case "positive":
                return rand()
            case "constant":
                return torch.full(shape, self.value, dtype=torch.float64)
            case "counts":
                return (10 ** (6 * rand())).floor()
            case "sparse":
                return normal * (rand() < 0.05)
            case "ladder":  # every element has a scale of its own
                return normal * 10 ** (8 * rand() - 4)
        return normal


@st.composite
def fills(draw: st.DrawFn, kinds: Sequence[str] = KINDS, spans: Sequence[tuple[float, float]] = SPANS) -> Fill:
    return Fill(
        draw(st.sampled_from(kinds)),
        draw(st.integers(0, 2**16)),
        draw(st.sampled_from((0.1, 0.3, 0.7, 1 / 3, 1e-3, 1.0))),
        tuple(draw(st.lists(st.sampled_from(spans), max_size=4))),
        draw(st.sampled_from((1.0, 1.0, 1e3, 1e4))),
        draw(st.booleans()),
    )


def moderate(kinds: Sequence[str] = KINDS) -> st.SearchStrategy[Fill]:
    """Rows and channels a few orders of magnitude apart."""
    return fills(kinds, ((0.0, 0.0), (-2.0, 2.0), (-6.0, 1.0)))


def within_range(x: Tensor, other: Tensor, length: int) -> Tensor:
    """x, scaled down by powers of two where sums of so many products with the other would overflow."""
    highest = float(x.double().abs().max()) * float(other.double().abs().max()) * length
    while highest > HIGHEST:
        x, highest = x * 2.0**-16, highest * 2.0**-16
    return x


def cancelling(tensor: Tensor, axis: int, sign: int) -> Tensor:
    """The second half along an axis repeats the first, or its negative: products with both cancel exactly."""
    half = tensor.shape[axis] // 2
    first = tensor.narrow(axis, 0, half)
    return torch.cat([first, sign * first, tensor.narrow(axis, 2 * half, tensor.shape[axis] - 2 * half)], axis)
