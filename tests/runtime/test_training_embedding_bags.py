"""Embedding bags of one size train as native code; others are calls, with the same gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from runtime.training import Pair, same

INDICES = torch.tensor([[0, 3, 3], [5, 1, 0], [2, 2, 2], [6, 0, 5]])


class Bags(nn.Module):
    def __init__(self, **form: Any) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(7, 5, **form)
        self.head = nn.Linear(5, 2)

    def forward(self, index: Tensor, *more: Tensor) -> Tensor:
        out: Tensor = self.head(self.bag(index, *more))
        return out


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(7, 5))
        self.amounts = nn.Parameter(torch.rand(4, 3))

    def forward(self, index: Tensor) -> Tensor:
        return F.embedding_bag(index, self.table, per_sample_weights=self.amounts, mode="sum")


def train(model: nn.Module, *inputs: Tensor) -> Pair:
    pair = Pair(model)

    def run(each: Any) -> Tensor:
        out: Tensor = each(*inputs)
        out.square().mean().backward()
        return out.detach()

    same(*pair.both(run, 0))
    pair.compare()
    return pair


def calls(pair: Pair) -> list[str]:
    return [event.message for event in pair.journal.events if "embedding_bag" in event.message]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_one_size_are_native(mode: str) -> None:
    assert not calls(train(Bags(mode=mode), INDICES))


def test_weights_of_samples_have_gradients() -> None:
    assert not calls(train(Weighted(), INDICES))


@pytest.mark.parametrize(
    "form", [{"mode": "max"}, {"mode": "sum", "padding_idx": 2}, {"mode": "mean", "scale_grad_by_freq": True}]
)
def test_other_bags_have_eagers_gradients(form: dict[str, Any]) -> None:
    train(Bags(**form), INDICES)


def test_bags_of_different_sizes_have_eagers_gradients() -> None:
    train(Bags(mode="sum"), INDICES.flatten(), torch.tensor([0, 2, 7]))


def test_an_index_out_of_range_raises() -> None:
    model = Bags(mode="sum")
    pair = Pair(model)
    with pytest.raises((IndexError, RuntimeError), match="index"):
        pair.fast(torch.tensor([[0, 7, 1]]))
