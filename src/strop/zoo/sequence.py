"""Sequences: an LSTM and a temporal convolutional network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strop.zoo.weights import noise, randomize

Example = tuple[nn.Module, tuple[Tensor, ...]]


class Recurrent(nn.Module):
    """A stacked LSTM with a linear layer on every step."""

    def __init__(self, features: int = 128, width: int = 256, layers: int = 2, classes: int = 64):
        super().__init__()
        self.lstm = nn.LSTM(features, width, layers, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(x)
        scores: Tensor = self.head(states)
        return scores


class TemporalBlock(nn.Module):
    """1×1, PReLU, norm, depthwise dilated convolution, PReLU, norm, then 1×1 for the residual and for the skip."""

    def __init__(self, channels: int, hidden: int, dilation: int):
        super().__init__()
        self.expand = nn.Conv1d(channels, hidden, 1)
        self.act1 = nn.PReLU()
        self.norm1 = nn.GroupNorm(1, hidden, eps=1e-8)
        self.depthwise = nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden)
        self.act2 = nn.PReLU()
        self.norm2 = nn.GroupNorm(1, hidden, eps=1e-8)
        self.residual = nn.Conv1d(hidden, channels, 1)
        self.skip = nn.Conv1d(hidden, channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm1(self.act1(self.expand(x)))
        y = self.norm2(self.act2(self.depthwise(y)))
        return x + self.residual(y), self.skip(y)


class Separator(nn.Module):
    """Conv-TasNet (Luo and Mesgarani 2018): learned filterbank, temporal blocks, masks, transposed filterbank."""

    def __init__(self, filters: int = 256, channels: int = 64, hidden: int = 256, blocks: int = 8, repeats: int = 2):
        super().__init__()
        self.sources = 2
        self.encoder = nn.Conv1d(1, filters, 16, stride=8, bias=False)
        self.norm = nn.GroupNorm(1, filters, eps=1e-8)
        self.bottleneck = nn.Conv1d(filters, channels, 1)
        self.blocks = nn.ModuleList(
            TemporalBlock(channels, hidden, 2**level) for _ in range(repeats) for level in range(blocks)
        )
        self.act = nn.PReLU()
        self.mask = nn.Conv1d(channels, filters * self.sources, 1)
        self.decoder = nn.ConvTranspose1d(filters, 1, 16, stride=8, bias=False)

    def forward(self, signal: Tensor) -> Tensor:
        code = torch.relu(self.encoder(signal))
        x = self.bottleneck(self.norm(code))
        skips = torch.zeros_like(x)
        for block in self.blocks:
            x, skip = block(x)
            skips = skips + skip
        masks = torch.sigmoid(self.mask(self.act(skips)))
        masks = masks.view(signal.shape[0] * self.sources, code.shape[1], code.shape[2])
        separated: Tensor = self.decoder(masks * code).view(signal.shape[0], self.sources, -1)
        return separated


def lstm() -> Example:
    """A two-layer LSTM, 256 wide, over 100 steps."""
    inputs = (noise(1, 100, 128),)
    return randomize(Recurrent(), inputs), inputs


def tcn() -> Example:
    """A small Conv-TasNet: one second of audio at 8 kHz, 16 temporal blocks, two sources."""
    inputs = (noise(1, 1, 8000),)
    return randomize(Separator(), inputs), inputs
