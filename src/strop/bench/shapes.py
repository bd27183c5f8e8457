"""The operators that `strop bench --ops` measures: shapes of the zoo's networks, and of families that it lacks.

A line is `input -> channels` with k(ernel), s(tride), p(adding), d(ilation), g(roups); `t` marks a transposed
convolution, which may have o(utput padding); `a @ b` is a linear layer's `rows x in @ in x out`, with a batch in front
a product of two activations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

FAMILIES = ("C1D", "C2D", "C3D", "grouped", "dilated", "depthwise", "transposed", "matmul")

_LINES = """
1x8000 -> 256 k16 s8
256x999 -> 64 k1
64x999 -> 256 k1
64x999 -> 512 k1
64x1024 -> 64 k3 p1
80x3000 -> 384 k3 p1
384x1500 -> 384 k3 s2 p1
128x512 -> 256 k5 s2 p2
256x128 -> 256 k7 p3
16x8000 -> 16 k9 p4

3x224x224 -> 64 k7 s2 p3
64x56x56 -> 64 k3 p1
64x56x56 -> 128 k3 s2 p1
128x28x28 -> 128 k3 p1
256x14x14 -> 256 k3 p1
256x14x14 -> 512 k3 s2 p1
512x7x7 -> 512 k3 p1
64x56x56 -> 128 k1 s2
64x56x56 -> 256 k1
256x56x56 -> 64 k1
128x28x28 -> 512 k1
512x28x28 -> 128 k1
256x14x14 -> 1024 k1
1024x14x14 -> 256 k1
512x7x7 -> 2048 k1
2048x7x7 -> 512 k1
3x224x224 -> 32 k3 s2 p1
16x112x112 -> 96 k1
144x56x56 -> 24 k1
32x28x28 -> 192 k1
192x28x28 -> 32 k1
64x14x14 -> 384 k1
576x14x14 -> 96 k1
160x7x7 -> 960 k1
320x7x7 -> 1280 k1
3x224x224 -> 384 k16 s16
3x192x192 -> 16 k3 p1
16x192x192 -> 16 k3 p1
32x96x96 -> 32 k3 p1
64x48x48 -> 64 k3 p1
128x24x24 -> 128 k3 p1
128x48x48 -> 64 k3 p1
16x192x192 -> 4 k1
3x320x320 -> 16 k6 s2 p2
16x160x160 -> 32 k3 s2 p1
64x40x40 -> 128 k3 s2 p1
64x20x20 -> 64 k3 p1
128x20x20 -> 64 k1
256x10x10 -> 255 k1
3x227x227 -> 96 k11 s4
96x27x27 -> 256 k5 p2
256x13x13 -> 384 k3 p1
192x17x17 -> 192 k1,7 p0,3
64x112x112 -> 64 k3 p1
20x40x40 -> 20 k3 p1
32x64x64 -> 3 k3 p1
1x28x28 -> 32 k3
512x7x7 -> 1024 k7

3x16x112x112 -> 64 k3 p1
64x8x28x28 -> 128 k3 p1
128x4x14x14 -> 256 k3 p1
64x8x28x28 -> 144 k1,3,3 p0,1,1
144x8x28x28 -> 64 k3,1,1 p1,0,0
64x8x28x28 -> 128 k3 s2 p1
32x16x32x32 -> 32 k3 p1
3x8x112x112 -> 64 k3,7,7 s1,2,2 p1,3,3
16x16x56x56 -> 32 k3 p1
256x2x7x7 -> 512 k3 p1
1x32x32x32 -> 16 k3 p1
32x8x16x16 -> 64 k1

128x56x56 -> 128 k3 p1 g32
256x28x28 -> 256 k3 p1 g32
512x14x14 -> 512 k3 p1 g32
256x56x56 -> 256 k3 s2 p1 g32
240x28x28 -> 240 k1 g3
168x28x28 -> 168 k3 p1 g7
64x56x56 -> 64 k3 p1 g4
192x14x14 -> 192 k1 g4
512x28x28 -> 512 k3 s2 p1 g32
1024x7x7 -> 1024 k3 p1 g32
96x27x27 -> 256 k5 p2 g2
128x28x28 -> 128 k3 p1 g64

256x999 -> 256 k3 p8 d8
64x1000 -> 128 k2 d4
512x28x28 -> 512 k3 p2 d2
256x33x33 -> 256 k3 p6 d6
64x64x64 -> 64 k3 p2 d2
128x28x28 -> 128 k3 p4 d4
128x65x65 -> 128 k3 p12 d12
64x64x64 -> 64 k5 p4 d2
64x56x56 -> 128 k3 s2 p2 d2
32x512 -> 32 k3 p4 d4

32x112x112 -> 32 k3 p1 g32
96x112x112 -> 96 k3 s2 p1 g96
144x56x56 -> 144 k3 p1 g144
144x56x56 -> 144 k5 s2 p2 g144
240x28x28 -> 240 k5 p2 g240
384x14x14 -> 384 k3 p1 g384
672x14x14 -> 672 k5 p2 g672
672x14x14 -> 672 k5 s2 p2 g672
960x7x7 -> 960 k3 p1 g960
1152x7x7 -> 1152 k5 p2 g1152
256x999 -> 256 k3 p1 g256
256x999 -> 256 k3 p64 d64 g256
64x112x112 -> 64 k3 p1 g64
32x150x150 -> 32 k5 p2 g32
96x56x56 -> 96 k7 p3 g96
512x7x7 -> 512 k7 p3 g512
64x2000 -> 64 k31 p15 g64
32x8x28x28 -> 32 k3 p1 g32

t 128x24x24 -> 64 k2 s2
t 64x48x48 -> 32 k2 s2
t 32x96x96 -> 16 k2 s2
t 512x4x4 -> 256 k4 s2 p1
t 256x8x8 -> 128 k4 s2 p1
t 128x16x16 -> 64 k4 s2 p1
t 64x32x32 -> 3 k4 s2 p1
t 64x28x28 -> 64 k3 p1
t 256x999 -> 1 k16 s8
t 64x4x14x14 -> 32 k2 s2
t 64x28x28 -> 32 k3 s2 p1 o1
t 64x28x28 -> 64 k5 s2 p2 o1
t 256x14x14 -> 256 k4 s2 p1
t 100x1x1 -> 512 k4
t 32x64x64 -> 3 k3 p1
t 21x34x34 -> 21 k4 s2 p1 g21
t 512x128 -> 256 k4 s2 p1
t 128x8x8x8 -> 64 k4 s2 p1

128x768 @ 768x768
128x768 @ 768x3072
128x3072 @ 3072x768
128x768 @ 768x2304
128x384 @ 384x1536
128x1536 @ 1536x384
197x384 @ 384x1152
197x1536 @ 1536x384
100x256 @ 256x64
1x768 @ 768x50257
1x2048 @ 2048x1000
1x429 @ 429x1024
1x512 @ 512x256
12x128x64 @ 12x64x128
12x128x128 @ 12x128x64
1x27x32 @ 1x32x27
64x512 @ 512x512
512x512 @ 512x512
77x768 @ 768x768
8x1024 @ 1024x1024
1x4096 @ 4096x4096
32x10 @ 10x128
16x64x64 @ 16x64x64
4x256x256 @ 4x256x256
"""
_CONVOLUTION = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
_TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


class _Product(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.matmul(a, b)


@dataclass(frozen=True)
class MeasuredOperator:
    """One line of the table."""

    text: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(map(int, part.split("x"))) for part in self.text.split() if part[0].isdigit())

    def _letter(self, letter: str, rank: int, missing: int) -> tuple[int, ...]:
        found = re.search(rf"\b{letter}(\d+(?:,\d+)*)", self.text)
        values = tuple(map(int, found.group(1).split(","))) if found else (missing,)
        return values * rank if len(values) == 1 else values

    @property
    def family(self) -> str:
        if "@" in self.text:
            return "matmul"
        (channels, *space), _ = self._shapes
        if self.text.startswith("t "):
            return "transposed"
        (groups,) = self._letter("g", 1, 1)
        if groups == channels and groups > 1:
            return "depthwise"
        if groups > 1:
            return "grouped"
        if max(self._letter("d", len(space), 1)) > 1:
            return "dilated"
        return f"C{len(space)}D"

    def build(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module with random weights, and inputs for it."""
        if "@" in self.text:
            left, right = self._shapes
            if len(left) == 3:
                return _Product(), (torch.randn(left), torch.randn(right))
            return nn.Linear(right[0], right[1]).eval(), (torch.randn(left),)
        (channels, *space), (to,) = self._shapes
        rank = len(space)
        kernel, stride, padding, dilation = (
            self._letter(letter, rank, missing) for letter, missing in (("k", 1), ("s", 1), ("p", 0), ("d", 1))
        )
        (groups,) = self._letter("g", 1, 1)
        kind: Any = (_TRANSPOSED if self.family == "transposed" else _CONVOLUTION)[rank]
        extra = {"output_padding": self._letter("o", rank, 0)} if self.family == "transposed" else {}
        module: nn.Module = kind(channels, to, kernel, stride, padding, groups=groups, dilation=dilation, **extra)
        return module.eval(), (torch.randn(1, channels, *space),)

    @cached_property
    def gflop(self) -> float:
        """Twice the multiply-adds, whatever algorithm runs them."""
        if "@" in self.text:
            left, right = self._shapes
            return 2e-9 * prod(left) * right[-1]
        module, inputs = self.build()
        size = sum(parameter.numel() for name, parameter in module.named_parameters() if name == "weight")
        with torch.no_grad(), torch.device("meta"):
            result = module.to("meta")(inputs[0].to("meta"))
        points = prod((inputs[0] if self.family == "transposed" else result).shape[2:])
        return 2e-9 * points * size


OPERATORS = tuple(MeasuredOperator(line) for line in _LINES.split("\n") if line)
