"""Modules through torch.export: blocks that real networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, LlamaConfig, LlamaModel

from frontend.torch.compare import check_module, ops


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(8, 8, 5, stride=2, padding=2, groups=8)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.gate = nn.Sequential(nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Hardsigmoid())

    def forward(self, x: Tensor) -> Tensor:
        x = self.depthwise(x)
        return x * self.gate(self.pool(x))


class Recurrent(nn.Module):
    def __init__(self, kind: Callable[..., nn.Module], **options: Any) -> None:
        super().__init__()
        self.cell = kind(4, 5, batch_first=True, **options)

    def forward(self, x: Tensor) -> Any:
        return self.cell(x)


class Patches(nn.Module):
    """A small vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True, activation="gelu")

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.layer(torch.cat([self.token.expand(len(x), -1, -1), x], 1))[:, 0]


_bert = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
_gpt2 = GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False)
_llama = LlamaConfig(
    vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4,
    num_key_value_heads=2, use_cache=False,
)  # fmt: skip

MODULES: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {
    "residual": lambda: (Residual(), (torch.randn(1, 8, 6, 6),)),
    "squeeze-excite": lambda: (SqueezeExcite(), (torch.randn(1, 8, 7, 7),)),
    "lstm": lambda: (Recurrent(nn.LSTM, num_layers=2, bidirectional=True), (torch.randn(2, 3, 4),)),
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(2, 3, 4),)),
    "rnn": lambda: (Recurrent(nn.RNN, nonlinearity="relu", bias=False), (torch.randn(2, 3, 4),)),
    "vision transformer": lambda: (Patches(), (torch.randn(2, 3, 8, 8),)),
    "bert": lambda: (BertModel(_bert), (torch.randint(0, 50, (2, 7)),)),
    "gpt-2": lambda: (
        GPT2Model(_gpt2),
        (torch.randint(0, 50, (2, 7)),),
    ),
    "llama": lambda: (
        LlamaModel(_llama),
        (torch.randint(0, 50, (2, 7)),),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_equals_eager_without_library_nodes(name: str) -> None:
    module, args = MODULES[name]()
    _randomise(module)
    check_module(module, args)


def _randomise(module: nn.Module) -> None:
    """Fresh norms scale by one and shift by zero, which hides mistakes."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            tensor.data.uniform_(0.1, 0.6)


def test_lstm_stays_one_node() -> None:
    captured = check_module(Recurrent(nn.LSTM), (torch.randn(2, 3, 4),))
    assert [op for op in ops(captured.graph) if op not in ("full", "item")] == ["lstm"]


def test_a_convolution_block_is_three_nodes() -> None:
    captured = check_module(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (torch.randn(1, 3, 5, 5),))
    assert ops(captured.graph) == ["conv", "batch_norm", "relu"]


def test_dropout_vanishes_in_eval() -> None:
    captured = check_module(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), (torch.randn(2, 3),))
    assert ops(captured.graph) == ["linear"]


def test_half_precision_models_run_through_the_library() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4)).bfloat16()
    captured = check_module(module, (torch.randn(2, 4, dtype=torch.bfloat16),), native=False)
    assert set(ops(captured.graph)) == {"aten"}
