"""Random numbers in training: backward sees the numbers that forward drew, whatever is kept and whatever is not."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from runtime.training import Pair


class Attention(nn.Module):
    """Probabilities are dropped between two products, both of which backward needs them for."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(32, 3 * 32)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x).chunk(3, -1)
        weights = F.dropout(F.softmax(q @ k.transpose(-1, -2), -1), 0.3)
        return F.dropout(weights @ v, 0.2)


@pytest.mark.parametrize("memory", ["fastest", "balanced"])
def test_gradients_are_of_the_numbers_that_forward_drew(memory: str) -> None:
    Pair(Attention(), memory=memory).step(torch.randn(2, 48, 32), seed=5)
