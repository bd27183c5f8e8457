"""Networks that answer per pixel or per box: a small UNet and a YOLO-like detector."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strop.zoo.vision import ConvNorm, Example
from strop.zoo.weights import noise, randomize


class DoubleConv(nn.Sequential):
    def __init__(self, channels_in: int, channels_out: int):
        super().__init__(
            ConvNorm(channels_in, channels_out, 3, 1, 1, nn.ReLU()),
            ConvNorm(channels_out, channels_out, 3, 1, 1, nn.ReLU()),
        )


class UNet(nn.Module):
    """UNet (Ronneberger et al. 2015) with padded convolutions, batch norm and transposed convolutions."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 128), classes: int = 4):
        super().__init__()
        inputs = (3, *widths[:-1])
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(inputs, widths, strict=True))
        pairs = [(widths[i + 1], widths[i]) for i in reversed(range(len(widths) - 1))]
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for wide, narrow in pairs)
        self.merge = nn.ModuleList(DoubleConv(2 * narrow, narrow) for _, narrow in pairs)
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            kept.append(x)
        kept.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat((kept.pop(), up(x)), dim=1))
        scores: Tensor = self.head(x)
        return scores


def _conv(channels_in: int, channels_out: int, kernel: int = 1, stride: int = 1) -> ConvNorm:
    return ConvNorm(channels_in, channels_out, kernel, stride, 1, nn.SiLU())


class Shortcut(nn.Module):
    def __init__(self, channels: int, residual: bool):
        super().__init__()
        self.cv1 = _conv(channels, channels)
        self.cv2 = _conv(channels, channels, 3)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        y = self.cv2(self.cv1(x))
        result: Tensor = x + y if self.residual else y
        return result


class CrossStage(nn.Module):
    """A cross-stage-partial block (Wang et al. 2019) with three 1×1 convolutions around its bottlenecks."""

    def __init__(self, channels_in: int, channels_out: int, depth: int, residual: bool = True):
        super().__init__()
        half = channels_out // 2
        self.cv1 = _conv(channels_in, half)
        self.cv2 = _conv(channels_in, half)
        self.cv3 = _conv(2 * half, channels_out)
        self.blocks = nn.Sequential(*(Shortcut(half, residual) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.cv3(torch.cat((self.blocks(self.cv1(x)), self.cv2(x)), dim=1))
        return result


class PyramidPool(nn.Module):
    """Three max pools in a row, all concatenated."""

    def __init__(self, channels: int):
        super().__init__()
        self.cv1 = _conv(channels, channels // 2)
        self.cv2 = _conv(channels * 2, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.cv1(x)
        y = self.pool(x)
        z = self.pool(y)
        result: Tensor = self.cv2(torch.cat((x, y, z, self.pool(z)), dim=1))
        return result


class Detector(nn.Module):
    """CSP backbone, a top-down and a bottom-up neck, three heads whose boxes are decoded in the network."""

    anchors: Tensor

    def __init__(self, width: int = 16, classes: int = 80, image: int = 320):
        super().__init__()
        w1, w2, w3, w4, w5 = (width << i for i in range(5))
        self.stem = nn.Sequential(_conv(3, w1, 6, 2), _conv(w1, w2, 3, 2), CrossStage(w2, w2, 1))
        self.stage3 = nn.Sequential(_conv(w2, w3, 3, 2), CrossStage(w3, w3, 2))
        self.stage4 = nn.Sequential(_conv(w3, w4, 3, 2), CrossStage(w4, w4, 3))
        self.stage5 = nn.Sequential(_conv(w4, w5, 3, 2), CrossStage(w5, w5, 1), PyramidPool(w5))
        self.lateral5 = _conv(w5, w4)
        self.top4 = CrossStage(2 * w4, w4, 1, residual=False)
        self.lateral4 = _conv(w4, w3)
        self.top3 = CrossStage(2 * w3, w3, 1, residual=False)
        self.down3 = _conv(w3, w3, 3, 2)
        self.bottom4 = CrossStage(2 * w3, w4, 1, residual=False)
        self.down4 = _conv(w4, w4, 3, 2)
        self.bottom5 = CrossStage(2 * w4, w5, 1, residual=False)
        self.values = classes + 5
        self.heads = nn.ModuleList(nn.Conv2d(w, 3 * self.values, 1) for w in (w3, w4, w5))
        self.register_buffer("anchors", 8.0 * torch.tensor([[1.2, 1.6], [2.0, 3.8], [4.1, 2.9]]).view(1, 3, 1, 1, 2))
        for stride in (8, 16, 32):
            side = torch.arange(image // stride, dtype=torch.float32)
            grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1)
            self.register_buffer(f"grid{stride}", grid)

    def decode(self, head: nn.Module, x: Tensor, stride: int) -> Tensor:
        batch, _, height, width = x.shape
        raw = head(x).view(batch, 3, self.values, height, width).permute(0, 1, 3, 4, 2).contiguous()
        centre, size, score = raw.sigmoid().split((2, 2, self.values - 4), dim=-1)
        centre = (centre * 2 - 0.5 + getattr(self, f"grid{stride}")) * stride
        size = (size * 2) ** 2 * (self.anchors * (stride / 8))
        return torch.cat((centre, size, score), dim=-1).view(batch, -1, self.values)

    def forward(self, x: Tensor) -> Tensor:
        p3 = self.stage3(self.stem(x))
        p4 = self.stage4(p3)
        l5 = self.lateral5(self.stage5(p4))
        t4 = self.top4(torch.cat((F.interpolate(l5, scale_factor=2.0, mode="nearest"), p4), dim=1))
        l4 = self.lateral4(t4)
        t3 = self.top3(torch.cat((F.interpolate(l4, scale_factor=2.0, mode="nearest"), p3), dim=1))
        b4 = self.bottom4(torch.cat((self.down3(t3), l4), dim=1))
        b5 = self.bottom5(torch.cat((self.down4(b4), l5), dim=1))
        levels = zip(self.heads, (t3, b4, b5), (8, 16, 32), strict=True)
        return torch.cat([self.decode(head, level, stride) for head, level, stride in levels], dim=1)


def unet() -> Example:
    """A UNet of 16 to 128 channels at 192×192."""
    inputs = (noise(1, 3, 192, 192),)
    return randomize(UNet(), inputs), inputs


def yolo() -> Example:
    """A YOLOv5n-like detector at 320×320: 6,300 boxes of 85 values."""
    inputs = (noise(1, 3, 320, 320),)
    return randomize(Detector(), inputs), inputs
