"""Strassen's product in machine code, with what is fused into it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop.graph.ir import Node
from strop.loops.lower.strassen import strassen_applies
from strop.schedule import algorithms
from strop.schedule.choose_strassen import Strassen
from strop.session import Session
from strop.target.description import Target

STRASSEN = strop.Options(cache=False, check=True, strassen=True)


class Block(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(depth, columns), nn.Linear(columns, depth)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it pays depends on the machine; that it is right doesn't."""

    def choose(node: Node, target: Target, threads: int) -> Strassen | None:
        return Strassen(2, 7, 16) if strassen_applies(node) else None

    monkeypatch.setattr(algorithms, "choose_strassen", choose)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [64, 101, 197])
def test_a_block_equals_eager(rows: int, threads: int) -> None:
    torch.manual_seed(0)
    block, x = Block(256, 512).eval(), torch.randn(1, rows, 256)
    with torch.no_grad():
        session = Session(block, (x,), options=STRASSEN, threads=threads)
        result, expected = session.module(x), block.double()(x.double())
    assert any("Strassen" in str(entry) for entry in session.journal.events)
    assert (result - expected).abs().max() < 2e-6 * expected.abs().max()


def test_an_image_equals_eager() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 256, 1), nn.ReLU()).eval()
    x = torch.randn(1, 3, 14, 14)
    with torch.no_grad():
        result = strop.compile(net, x, options=STRASSEN)(x)
        expected = net.double()(x.double())
    assert (result - expected).abs().max() < 2e-6 * expected.abs().max()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(256), nn.Linear(256, 768), nn.Linear(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = (part.unflatten(-1, (4, 64)).transpose(1, 2) for part in self.into(self.norm(x)).chunk(3, -1))
        found = nn.functional.scaled_dot_product_attention(*parts)
        return x + self.out(found.transpose(1, 2).flatten(2))


def test_heads_are_not_channels() -> None:
    """A sum over the heads of an attention leaves tensors as they lie: rows of a layer norm are read one by one."""
    torch.manual_seed(0)
    block, x = nn.Sequential(Attention(), Attention()).eval(), torch.randn(1, 128, 256)
    with torch.no_grad():
        session = Session(block, (x,), options=STRASSEN, threads=1)
        result, expected = session.module(x), block.double()(x.double())
    assert "f32[1,256,128]" not in str(session.nests)
    assert (result - expected).abs().max() < 2e-6 * expected.abs().max()


def test_it_can_be_switched_off() -> None:
    block, x = Block(256, 512).eval(), torch.randn(1, 128, 256)
    with torch.no_grad():
        session = Session(block, (x,), options=strop.Options(cache=False, numerics="fast", strassen=False), threads=1)
    assert not any("Strassen" in str(entry) for entry in session.journal.events)
