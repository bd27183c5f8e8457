"""One block of EfficientNet (Tan and Le 2019): expand, depthwise convolution, squeeze-excite, project, add.

strop studio examples/mbconv.py:block          # docs/studio.md walks through it
strop studio examples/mbconv.py:block --training
"""

from __future__ import annotations

import torch
from torch import nn

WIDE, NARROW, SQUEEZED, PIXELS, BATCH = 144, 24, 6, 56, 4


class MBConv(nn.Module):
    """An inverted residual block as EfficientNet-B0 has it at 56 × 56 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Conv2d(NARROW, WIDE, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(WIDE)
        self.depthwise = nn.Conv2d(WIDE, WIDE, 3, padding=1, groups=WIDE, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(WIDE)
        self.squeeze = nn.Conv2d(WIDE, SQUEEZED, 1)
        self.excite = nn.Conv2d(SQUEEZED, WIDE, 1)
        self.project = nn.Conv2d(WIDE, NARROW, 1, bias=False)
        self.project_norm = nn.BatchNorm2d(NARROW)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = nn.functional.silu(self.expand_norm(self.expand(x)))
        wide = nn.functional.silu(self.depthwise_norm(self.depthwise(wide)))
        pooled = wide.mean((2, 3), keepdim=True)
        gate = torch.sigmoid(self.excite(nn.functional.silu(self.squeeze(pooled))))
        return x + self.project_norm(self.project(wide * gate))


def block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return MBConv().eval(), (torch.randn(BATCH, NARROW, PIXELS, PIXELS),)
