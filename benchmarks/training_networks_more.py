"""More networks whose training steps are measured, written as tutorials and papers' repositories write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from training_networks import Training, classes

# ---- images ----------------------------------------------------------------------------------------------------------


class _BasicBlock(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != outside:
            conv = nn.Conv2d(inside, outside, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class _CifarResNet(nn.Module):
    def __init__(self, blocks: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        widths = (16, 16, 32, 64)
        stages = []
        for inside, outside in pairwise(widths):
            stages.append(_BasicBlock(inside, outside, 1 if inside == outside else 2))
            stages += [_BasicBlock(outside, outside) for _ in range(blocks - 1)]
        self.stages = nn.Sequential(*stages)
        self.linear = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        out = self.stages(F.relu(self.bn1(self.conv1(x))))
        out = F.avg_pool2d(out, out.shape[3])
        scores: Tensor = self.linear(out.view(out.shape[0], -1))
        return scores


def cifar_resnet20() -> Training:
    return Training(_CifarResNet(), (torch.randn(32, 3, 32, 32),), classes(10, 32))


class _DenseLayer(nn.Module):
    def __init__(self, inside: int, growth: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inside), nn.Conv2d(inside, 4 * growth, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv1(F.relu(self.bn1(x)))
        out = self.conv2(F.relu(self.bn2(out)))
        return torch.cat([x, out], 1)


class _DenseNet(nn.Module):
    def __init__(self, growth: int = 12, layers: int = 5, classes: int = 10) -> None:
        super().__init__()
        width = 2 * growth
        parts: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1, bias=False)]
        for number in range(3):
            for _ in range(layers):
                parts.append(_DenseLayer(width, growth))
                width += growth
            if number < 2:
                parts += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False)]
                parts.append(nn.AvgPool2d(2))
                width //= 2
        self.features = nn.Sequential(*parts, nn.BatchNorm2d(width), nn.ReLU())
        self.classifier = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        out = F.adaptive_avg_pool2d(self.features(x), 1)
        scores: Tensor = self.classifier(torch.flatten(out, 1))
        return scores


def densenet() -> Training:
    return Training(_DenseNet(), (torch.randn(16, 3, 32, 32),), classes(10, 16))


class _Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 4, 2, 1),
            nn.BatchNorm2d(32),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, 1),
            nn.BatchNorm2d(64),
            nn.LeakyReLU(0.2),
            nn.Conv2d(64, 128, 4, 2, 1),
            nn.BatchNorm2d(128),
            nn.LeakyReLU(0.2),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, 2, 1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 3, 4, 2, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.decoder(self.encoder(x))
        return made


def autoencoder() -> Training:
    images = torch.rand(16, 3, 64, 64)
    return Training(_Autoencoder(), (images,), lambda made: F.mse_loss(made, images.to(made.dtype)))


class _ConvNeXtBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(1e-6 * torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        out = self.dwconv(x).permute(0, 2, 3, 1)
        out = self.pwconv2(F.gelu(self.pwconv1(self.norm(out))))
        return x + (self.gamma * out).permute(0, 3, 1, 2)


class _ConvNeXt(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (48, 96, 192), depth: int = 2, classes: int = 100) -> None:
        super().__init__()
        parts: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), nn.GroupNorm(1, widths[0])]
        for number, width in enumerate(widths):
            if number:
                parts += [nn.GroupNorm(1, widths[number - 1]), nn.Conv2d(widths[number - 1], width, 2, 2)]
            parts += [_ConvNeXtBlock(width) for _ in range(depth)]
        self.features = nn.Sequential(*parts)
        self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.norm(self.features(x).mean((-2, -1))))
        return scores


def convnext() -> Training:
    return Training(_ConvNeXt(), (torch.randn(4, 3, 128, 128),), classes(100, 4))


class _MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = x + self.channels(self.norm2(x))
        return mixed


class _Mixer(nn.Module):
    def __init__(self, patches: int = 64, width: int = 192, depth: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 8, 8)
        self.blocks = nn.Sequential(*(_MixerBlock(patches, width) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.stem(x).flatten(2).transpose(1, 2)
        scores: Tensor = self.head(self.norm(self.blocks(tokens)).mean(1))
        return scores


def mlp_mixer() -> Training:
    return Training(_Mixer(), (torch.randn(16, 3, 64, 64),), classes(10, 16))


# ---- sequences -------------------------------------------------------------------------------------------------------


class _AudioBlock(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.conv = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = x + self.mix(F.silu(self.conv(self.norm(x))))
        return mixed


class _AudioNet(nn.Module):
    def __init__(self, width: int = 64, classes: int = 35) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, width, 80, stride=8), nn.GroupNorm(8, width), nn.ReLU(), nn.MaxPool1d(4))
        self.blocks = nn.Sequential(*(_AudioBlock(width, 2**n) for n in range(4)))
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        out = self.blocks(self.stem(x))
        scores: Tensor = self.head(F.adaptive_avg_pool1d(out, 1).squeeze(-1))
        return scores


def audio_net() -> Training:
    return Training(_AudioNet(), (torch.randn(8, 1, 8000),), classes(35, 8))


class _Tagger(nn.Module):
    def __init__(self, words: int = 5000, width: int = 128, tags: int = 17) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.tags = nn.Linear(2 * width, tags)

    def forward(self, words: Tensor) -> Tensor:
        scores: Tensor = self.tags(self.lstm(self.embedding(words))[0])
        return scores


def lstm_tagger() -> Training:
    return Training(_Tagger(), (torch.randint(5000, (16, 40)),), classes(17, 16, 40))


class _Translator(nn.Module):
    def __init__(self, words: int = 2000, width: int = 128) -> None:
        super().__init__()
        self.source, self.wanted = nn.Embedding(words, width), nn.Embedding(words, width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 4 * width, dropout=0.1, batch_first=True)
        self.generator = nn.Linear(width, words)
        places = torch.arange(64)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        self.register_buffer("places", torch.cat([places.sin(), places.cos()], 1))

    def forward(self, source: Tensor, wanted: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(wanted.shape[1])
        left = self.source(source) + self.places[: source.shape[1]]
        right = self.wanted(wanted) + self.places[: wanted.shape[1]]
        scores: Tensor = self.generator(self.transformer(left, right, tgt_mask=mask))
        return scores


def translator() -> Training:
    inputs = torch.randint(2000, (8, 48)), torch.randint(2000, (8, 32))
    return Training(_Translator(), inputs, classes(2000, 8, 32))


class _Characters(nn.Module):
    def __init__(self, characters: int = 96, width: int = 256) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, text: Tensor) -> Tensor:
        scores: Tensor = self.head(self.gru(self.embedding(text))[0])
        return scores


def gru_characters() -> Training:
    return Training(_Characters(), (torch.randint(96, (16, 64)),), classes(96, 16, 64))


_ALL = (
    cifar_resnet20, densenet, autoencoder, convnext, mlp_mixer,
    audio_net, lstm_tagger, translator, gru_characters,
)  # fmt: skip
MORE_NETWORKS: dict[str, Callable[[], Training]] = {each.__name__: each for each in _ALL}
