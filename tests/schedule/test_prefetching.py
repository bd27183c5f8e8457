"""What a contraction asks for ahead."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strop.core.options import Options
from strop.session import Session


class Product(nn.Module):
    def __init__(self, weight: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight) if weight is not None else None

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ (y if self.weight is None else self.weight).transpose(-1, -2)


def scheduled(model: nn.Module, *inputs: Tensor) -> str:
    options = Options(cache=False, target="znver3", tuned=False)
    session = Session(model.eval(), inputs, options=options, threads=1)
    return str(session.nests["matmul"])


def test_the_next_panel_of_a_weight_is_asked_for() -> None:
    x = torch.randn(2, 128, 64)
    assert "^(" in scheduled(Product(torch.randn(2, 256, 64)), x, x)


def test_what_was_packed_at_this_call_is_in_l2_already() -> None:
    x, y = torch.randn(2, 128, 64), torch.randn(2, 256, 64)
    nest = scheduled(Product(None), x, y)
    assert "^(" not in nest
