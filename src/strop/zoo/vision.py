"""Image classifiers: ResNet-18 and -50, MobileNetV2, EfficientNet-B0, ViT-small."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strop.zoo.weights import noise, randomize

Example = tuple[nn.Module, tuple[Tensor, ...]]


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a shortcut (He et al. 2015, figure 5 left)."""

    expansion = 1

    def __init__(self, channels_in: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = _projection(channels_in, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 and a shortcut (figure 5 right), the stride on the 3×3."""

    expansion = 4

    def __init__(self, channels_in: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)
        self.shortcut = _projection(channels_in, width * 4, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + self.shortcut(x))


def _projection(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    if stride == 1 and channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out))


class ResNet(nn.Module):
    """Deep residual network (He et al. 2015) of four stages."""

    def __init__(self, block: type[BasicBlock] | type[Bottleneck], depths: tuple[int, ...], classes: int = 1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks: list[nn.Module] = []
        channels = 64
        for stage, depth in enumerate(depths):
            width = 64 << stage
            for index in range(depth):
                blocks.append(block(channels, width, 2 if stage and index == 0 else 1))
                channels = width * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = F.adaptive_avg_pool2d(self.blocks(x), 1)
        logits: Tensor = self.fc(torch.flatten(x, 1))
        return logits


class ConvNorm(nn.Sequential):
    """Convolution without bias, batch norm, activation."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, stride: int, groups: int, act: nn.Module):
        super().__init__(
            nn.Conv2d(channels_in, channels_out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(channels_out),
            act,
        )


class SqueezeExcite(nn.Module):
    """Channel gates from globally pooled features (Hu et al. 2017)."""

    def __init__(self, channels: int, squeezed: int):
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        gate = F.adaptive_avg_pool2d(x, 1)
        gate = torch.sigmoid(self.expand(F.silu(self.reduce(gate))))
        return x * gate


class InvertedResidual(nn.Module):
    """Expand 1×1, depthwise, optional squeeze-excite, linear 1×1, shortcut where the shapes agree."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        *,
        kernel: int = 3,
        stride: int,
        expand: int,
        act: type[nn.Module],
        excite: bool,
    ):
        super().__init__()
        hidden = channels_in * expand
        layers: list[nn.Module] = []
        if expand != 1:
            layers.append(ConvNorm(channels_in, hidden, 1, 1, 1, act()))
        layers.append(ConvNorm(hidden, hidden, kernel, stride, hidden, act()))
        if excite:
            layers.append(SqueezeExcite(hidden, max(1, channels_in // 4)))
        layers.append(ConvNorm(hidden, channels_out, 1, 1, 1, nn.Identity()))
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels_in == channels_out

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = x + self.layers(x) if self.residual else self.layers(x)
        return result


class InvertedResidualNet(nn.Module):
    """Stem, inverted residual blocks, 1×1 head, pooled classifier: MobileNetV2 and EfficientNet alike."""

    def __init__(self, stem: int, blocks: list[InvertedResidual], channels: int, act: type[nn.Module]):
        super().__init__()
        self.stem = ConvNorm(3, stem, 3, 2, 1, act())
        self.blocks = nn.Sequential(*blocks)
        self.head = ConvNorm(channels, 1280, 1, 1, 1, act())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x: Tensor) -> Tensor:
        x = self.head(self.blocks(self.stem(x)))
        x = F.adaptive_avg_pool2d(x, 1)
        logits: Tensor = self.classifier(torch.flatten(x, 1))
        return logits


class EncoderBlock(nn.Module):
    """Pre-norm transformer block with a fused query-key-value projection."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))
        result: Tensor = x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        return result


class VisionTransformer(nn.Module):
    """ViT (Dosovitskiy et al. 2020): patches, class token, learned positions."""

    def __init__(self, width: int, depth: int, heads: int, image: int = 224, patch: int = 16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(EncoderBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), patches), dim=1) + self.position
        logits: Tensor = self.head(self.norm(self.blocks(x))[:, 0])
        return logits


def _example(model: nn.Module) -> Example:
    inputs = (noise(1, 3, 224, 224),)
    return randomize(model, inputs), inputs


def resnet18() -> Example:
    """ResNet-18 at 224×224: 3.6 GFLOP, almost all in 3×3 convolutions."""
    return _example(ResNet(BasicBlock, (2, 2, 2, 2)))


def resnet50() -> Example:
    """ResNet-50 at 224×224: 8.2 GFLOP, about half in 1×1 convolutions."""
    return _example(ResNet(Bottleneck, (3, 4, 6, 3)))


def mobilenet_v2() -> Example:
    """MobileNetV2 (Sandler et al. 2018) at 224×224: depthwise and 1×1, bound by memory as much as arithmetic."""
    settings = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    blocks, channels = [], 32
    for expand, width, repeats, first in settings:
        for index in range(repeats):
            stride = first if index == 0 else 1
            blocks.append(InvertedResidual(channels, width, stride=stride, expand=expand, act=nn.ReLU6, excite=False))
            channels = width
    return _example(InvertedResidualNet(32, blocks, channels, nn.ReLU6))


def efficientnet_b0() -> Example:
    """EfficientNet-B0 (Tan and Le 2019) at 224×224: depthwise 3×3 and 5×5, squeeze-excite, SiLU."""
    settings = (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )
    blocks, channels = [], 32
    for expand, width, repeats, first, kernel in settings:
        for index in range(repeats):
            stride = first if index == 0 else 1
            blocks.append(
                InvertedResidual(channels, width, kernel=kernel, stride=stride, expand=expand, act=nn.SiLU, excite=True)
            )
            channels = width
    return _example(InvertedResidualNet(32, blocks, channels, nn.SiLU))


def vit_small() -> Example:
    """ViT-small, 16×16 patches at 224×224: 197 tokens, 384 wide, 12 layers, 6 heads."""
    return _example(VisionTransformer(384, 12, 6))
