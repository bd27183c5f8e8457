"""Networks over rows of numbers and over images, as people write them, at small sizes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from training_networks import Training, classes

# ---- rows of numbers -------------------------------------------------------------------------------------------------


def _mlp(rows: int, *widths: int) -> Training:
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths[:-1]):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    layers.append(nn.Linear(widths[-2], widths[-1]))
    return Training(nn.Sequential(*layers), (torch.randn(rows, widths[0]),), classes(widths[-1], rows))


def mlp_8_rows() -> Training:
    return _mlp(8, 64, 128, 128, 10)


def mlp_16_rows() -> Training:
    return _mlp(16, 256, 256, 256, 10)


def mlp_32_rows() -> Training:
    return _mlp(32, 784, 512, 256, 10)


def mlp_wide() -> Training:
    return _mlp(64, 1024, 4096, 4096, 100)


def mlp_deep_narrow() -> Training:
    return _mlp(64, 32, *(64 for _ in range(12)), 1)


class _Crosses(nn.Module):
    """DeepFM: factorisation machine and MLP over the same embeddings."""

    def __init__(self, fields: int = 20, rows: int = 2000, width: int = 16) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.arange(fields) * rows)
        self.embedding = nn.Embedding(fields * rows, width)
        self.linear = nn.Embedding(fields * rows, 1)
        self.deep = nn.Sequential(
            nn.Linear(fields * width, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 1),
        )  # fmt: skip

    def forward(self, fields: Tensor) -> Tensor:
        fields = fields + self.offsets
        each = self.embedding(fields)
        pairs = 0.5 * (each.sum(1) ** 2 - (each**2).sum(1)).sum(1)
        scores: Tensor = self.linear(fields).sum((1, 2)) + pairs + self.deep(each.flatten(1)).squeeze(1)
        return scores


def deepfm() -> Training:
    wanted = torch.rand(256).round()
    return Training(
        _Crosses(),
        (torch.randint(2000, (256, 20)),),
        lambda scores: F.binary_cross_entropy_with_logits(scores, wanted.to(scores.dtype)),
    )


class _GraphConvolution(nn.Module):
    """Messages along edges are summed up by index_add and weighted by degrees."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.own, self.neighbours = nn.Linear(inside, outside), nn.Linear(inside, outside)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        sums = torch.zeros_like(x).index_add(0, target, x[source])
        ones = torch.ones(edges.shape[1], 1, dtype=x.dtype)
        degree = torch.zeros(x.shape[0], 1, dtype=x.dtype).scatter_add(0, target[:, None], ones)
        mixed: Tensor = self.own(x) + self.neighbours(sums / degree.clamp(min=1))
        return mixed


class _GraphNet(nn.Module):
    def __init__(self, inside: int = 64, width: int = 64, labels: int = 7) -> None:
        super().__init__()
        self.first, self.second = _GraphConvolution(inside, width), _GraphConvolution(width, width)
        self.head = nn.Linear(width, labels)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.dropout(F.relu(self.first(x, edges)), 0.5, self.training)
        scores: Tensor = self.head(F.relu(self.second(x, edges)))
        return scores


def graph_net() -> Training:
    return Training(_GraphNet(), (torch.randn(1000, 64), torch.randint(1000, (2, 5000))), classes(7, 1000))


class _Experts(nn.Module):
    """Two of eight experts per token; every expert computes all tokens, gates are zero for others."""

    def __init__(self, width: int, experts: int = 8, chosen: int = 2) -> None:
        super().__init__()
        self.chosen, self.gate = chosen, nn.Linear(width, experts)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / width**0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) / (2 * width) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        scores, places = self.gate(x).topk(self.chosen, dim=-1)
        gates = torch.zeros(*x.shape[:-1], self.up.shape[0], dtype=x.dtype).scatter(-1, places, scores.softmax(-1))
        hidden = F.gelu(torch.einsum("btd,edf->ebtf", x, self.up))
        return torch.einsum("ebtf,efd,bte->btd", hidden, self.down, gates)


class _MixtureOfExperts(nn.Module):
    def __init__(self, words: int = 1000, width: int = 128) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.experts = nn.ModuleList(_Experts(width) for _ in range(2))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for norm, experts in zip(self.norms, self.experts):
            x = x + experts(norm(x))
        scores: Tensor = self.head(x)
        return scores


def mixture_of_experts() -> Training:
    return Training(_MixtureOfExperts(), (torch.randint(1000, (4, 32)),), classes(1000, 4, 32))


# ---- images ----------------------------------------------------------------------------------------------------------


def _conv(
    inside: int, outside: int, kernel: int = 3, stride: int = 1, act: type[nn.Module] | None = nn.ReLU, groups: int = 1
) -> nn.Sequential:
    parts: list[nn.Module] = [
        nn.Conv2d(inside, outside, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outside),
    ]
    return nn.Sequential(*parts, *([act()] if act else []))


def lenet() -> Training:
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip
    return Training(model, (torch.randn(64, 1, 28, 28),), classes(10, 64))


def mnist_cnn() -> Training:
    """PyTorch's MNIST example."""
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(1),
    )  # fmt: skip
    wanted = torch.randint(10, (64,))
    return Training(model, (torch.randn(64, 1, 28, 28),), lambda scores: F.nll_loss(scores, wanted))


class _Residual(nn.Module):
    """A basic block, or a bottleneck where `narrow` is given."""

    def __init__(self, inside: int, outside: int, stride: int, narrow: int = 0) -> None:
        super().__init__()
        if narrow:
            parts = [_conv(inside, narrow, 1), _conv(narrow, narrow, 3, stride), _conv(narrow, outside, 1, act=None)]
        else:
            parts = [_conv(inside, outside, 3, stride), _conv(outside, outside, 3, act=None)]
        self.body = nn.Sequential(*parts)
        same = stride == 1 and inside == outside
        self.down = nn.Identity() if same else _conv(inside, outside, 1, stride, None)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.down(x))


def _resnet(depths: tuple[int, ...], bottleneck: bool, batch: int, size: int) -> Training:
    parts: list[nn.Module] = [_conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for number, depth in enumerate(depths):
        narrow = 64 << number
        outside = 4 * narrow if bottleneck else narrow
        for block in range(depth):
            parts.append(_Residual(inside, outside, 2 if number and not block else 1, narrow if bottleneck else 0))
            inside = outside
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 100)]
    return Training(nn.Sequential(*parts), (torch.randn(batch, 3, size, size),), classes(100, batch))


def resnet34() -> Training:
    return _resnet((3, 4, 6, 3), False, 2, 96)


def resnet50() -> Training:
    return _resnet((3, 4, 6, 3), True, 2, 160)


def resnet18_large_batch() -> Training:
    return _resnet((2, 2, 2, 2), False, 32, 64)


def vgg() -> Training:
    parts: list[nn.Module] = []
    inside = 3
    for width, depth in ((32, 1), (64, 1), (128, 2), (256, 2)):
        for _ in range(depth):
            parts += [nn.Conv2d(inside, width, 3, padding=1), nn.ReLU(inplace=True)]
            inside = width
        parts.append(nn.MaxPool2d(2, 2))
    head = [nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(True), nn.Dropout(), nn.Linear(512, 10)]
    return Training(nn.Sequential(*parts, *head), (torch.randn(32, 3, 32, 32),), classes(10, 32))


class _SqueezeExcite(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))))


class _InvertedResidual(nn.Module):
    def __init__(self, inside: int, outside: int, kernel: int, stride: int, excite: bool) -> None:
        super().__init__()
        width = 4 * inside
        parts = [_conv(inside, width, 1, act=nn.Hardswish), _conv(width, width, kernel, stride, nn.Hardswish, width)]
        if excite:
            parts.append(_SqueezeExcite(width))  # type: ignore[arg-type]
        self.block = nn.Sequential(*parts, _conv(width, outside, 1, act=None))
        self.skips = inside == outside and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.block(x)
        return x + out if self.skips else out


def mobilenet_v3() -> Training:
    blocks = [(16, 16, 3, 2, True), (16, 24, 3, 2, False), (24, 24, 3, 1, False), (24, 40, 5, 2, True)]
    blocks += [(40, 40, 5, 1, True), (40, 48, 5, 1, True), (48, 96, 5, 2, True), (96, 96, 5, 1, True)]
    model = nn.Sequential(
        _conv(3, 16, 3, 2, nn.Hardswish), *(_InvertedResidual(*each) for each in blocks),
        _conv(96, 576, 1, act=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(576, 512), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(512, 100),
    )  # fmt: skip
    return Training(model, (torch.randn(8, 3, 128, 128),), classes(100, 8))


class _ShuffleUnit(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.branch = nn.Sequential(
            _conv(half, half, 1), _conv(half, half, 3, act=None, groups=half), _conv(half, half, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=1)
        out = torch.cat((left, self.branch(right)), dim=1)
        batch, channels, height, width = out.shape
        return out.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)


def shufflenet() -> Training:
    parts: list[nn.Module] = [_conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1), _conv(24, 116, 1)]
    parts += [_ShuffleUnit(116) for _ in range(3)]
    parts += [_conv(116, 232, 3, 2, groups=4), *(_ShuffleUnit(232) for _ in range(4))]
    parts += [_conv(232, 464, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(464, 100)]
    return Training(nn.Sequential(*parts), (torch.randn(8, 3, 128, 128),), classes(100, 8))


class _Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for inside, outside in ((1, 16), (16, 32), (32, 64)):
            parts += [nn.Conv3d(inside, outside, 3, padding=1), nn.BatchNorm3d(outside), nn.ReLU(), nn.MaxPool3d(2)]
        self.features, self.head = nn.Sequential(*parts), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.features(x).mean((2, 3, 4)))
        return scores


def volumes() -> Training:
    return Training(_Volumes(), (torch.randn(2, 1, 32, 32, 32),), classes(10, 2))


class _VariationalAutoencoder(nn.Module):
    def __init__(self, width: int = 784, hidden: int = 400, latent: int = 20) -> None:
        super().__init__()
        self.fc1, self.mean = nn.Linear(width, hidden), nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.fc3, self.fc4 = nn.Linear(latent, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = F.relu(self.fc1(x))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mean, log_variance


def vae() -> Training:
    images = torch.rand(128, 784)

    def loss(made: Any) -> Tensor:
        image, mean, log_variance = made
        divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        return F.binary_cross_entropy(image, images.to(image.dtype), reduction="sum") + divergence

    return Training(_VariationalAutoencoder(), (images,), loss)


def gan_generator() -> Training:
    parts: list[nn.Module] = [nn.ConvTranspose2d(100, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU(True)]
    for inside, outside in ((256, 128), (128, 64)):
        parts += [nn.ConvTranspose2d(inside, outside, 4, 2, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(True)]
    parts += [nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh()]
    wanted = torch.rand(16, 3, 32, 32)
    return Training(
        nn.Sequential(*parts), (torch.randn(16, 100, 1, 1),), lambda made: F.mse_loss(made, wanted.to(made.dtype))
    )


def gan_discriminator() -> Training:
    parts: list[nn.Module] = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    for inside, outside in ((64, 128), (128, 256)):
        parts += [nn.Conv2d(inside, outside, 4, 2, 1, bias=False), nn.BatchNorm2d(outside), nn.LeakyReLU(0.2, True)]
    parts += [nn.Conv2d(256, 1, 4, 1, 0, bias=False), nn.Flatten(0)]
    wanted = torch.rand(16).round()
    return Training(
        nn.Sequential(*parts),
        (torch.randn(16, 3, 32, 32),),
        lambda scores: F.binary_cross_entropy_with_logits(scores, wanted.to(scores.dtype)),
    )


class _Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        features = [_conv(1, 32), nn.MaxPool2d(2), _conv(32, 64), nn.MaxPool2d(2), nn.Flatten()]
        self.tower = nn.Sequential(*features, nn.Linear(64 * 49, 128))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return F.pairwise_distance(self.tower(left), self.tower(right))


def siamese() -> Training:
    same = torch.rand(16).round()
    inputs = torch.randn(16, 1, 28, 28), torch.randn(16, 1, 28, 28)

    def loss(apart: Tensor) -> Tensor:
        here = same.to(apart.dtype)
        return (here * apart**2 + (1 - here) * F.relu(1.0 - apart) ** 2).mean()

    return Training(_Siamese(), inputs, loss)


_ALL = (
    mlp_8_rows, mlp_16_rows, mlp_32_rows, mlp_wide, mlp_deep_narrow, deepfm, graph_net, mixture_of_experts,
    lenet, mnist_cnn, resnet34, resnet50, resnet18_large_batch, vgg, mobilenet_v3, shufflenet, volumes, vae,
    gan_generator, gan_discriminator, siamese,
)  # fmt: skip
OTHER_NETWORKS: dict[str, Callable[[], Training]] = {each.__name__: each for each in _ALL}
