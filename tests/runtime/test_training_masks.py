"""`nn.Transformer` with masks whose kind nobody told: one graph, and eager's results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from runtime.training import Pair, same
from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend

CAUSAL = nn.Transformer.generate_square_subsequent_mask(6)
OTHER = torch.zeros(6, 6).masked_fill(torch.arange(36).view(6, 6) % 5 == 3, float("-inf"))


def transformer(batch_first: bool = True) -> nn.Module:
    return nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=batch_first)


class Counting(Backend):
    graphs = 0

    def __call__(self, *given: Any) -> Any:
        self.graphs += 1
        return super().__call__(*given)


@pytest.mark.parametrize(
    ("mask", "batch_first"), [(CAUSAL, True), (OTHER, False), (CAUSAL < 0, True)], ids=["causal", "other", "boolean"]
)
def test_a_mask_leaves_the_transformer_in_one_graph(mask: Tensor, batch_first: bool) -> None:
    pair = Pair(transformer(batch_first))
    backend = Counting(Options(), Journal())
    pair.fast = torch.compile(pair.model, backend=backend)
    source, target, weights = torch.randn(6, 6, 16), torch.randn(6, 6, 16), torch.randn(6, 6, 16)

    def run(model: Any) -> Tensor:
        result = model(source, target, tgt_mask=mask, src_mask=mask)
        (result * weights).sum().backward()
        return result.detach()

    same(*pair.both(run))
    pair.compare()
    assert backend.graphs == 1


def test_another_mask_is_not_taken_for_the_first() -> None:
    pair = Pair(transformer())
    source, target = torch.randn(6, 6, 16), torch.randn(6, 6, 16)
    for mask in (CAUSAL, OTHER, CAUSAL):
        same(*pair.both(lambda model, mask=mask: model(source, target, tgt_mask=mask).detach()))


def test_a_hint_is_kept_to() -> None:
    pair = Pair(transformer())
    source, target = torch.randn(6, 6, 16), torch.randn(6, 6, 16)
    for told in (True, False):
        same(*pair.both(lambda model, told=told: model(source, target, tgt_mask=CAUSAL, tgt_is_causal=told).detach()))
