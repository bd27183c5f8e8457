"""Networks that were not looked at while Strop was built, to see whether what holds for the zoo holds for others.

    pip install torchvision==0.28.0 transformers
    strop bench benchmarks/others.py:mnasnet --threads 1 --contenders strop,onnxruntime,openvino

Networks of torchvision and of transformers with their own sizes or small ones, and some written here; random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Made = tuple[nn.Module, tuple[Tensor, ...]]


# ---- images: torchvision's ------------------------------------------------------------------------------------------


def _vision(name: str, size: int = 224, **options: Any) -> Callable[[], Made]:
    def make() -> Made:
        import torchvision

        torch.manual_seed(0)
        model = getattr(torchvision.models, name)(**options).eval()
        _settle(model)
        return model, (torch.randn(1, 3, size, size),)

    return make


def _settle(model: nn.Module) -> None:
    """Statistics of norms that are not all zero and one."""
    for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
        norm.running_mean.normal_(0, 0.1)
        norm.running_var.uniform_(0.5, 1.5)


mobilenet_v2_narrow = _vision("mobilenet_v2", 192, width_mult=0.75)
mobilenet_v3 = _vision("mobilenet_v3_large")
mnasnet = _vision("mnasnet1_0")
efficientnet_b1 = _vision("efficientnet_b1", 240)
efficientnet_v2 = _vision("efficientnet_v2_s")
regnet = _vision("regnet_y_800mf")
resnet34 = _vision("resnet34")
resnext50 = _vision("resnext50_32x4d")
shufflenet = _vision("shufflenet_v2_x1_0")
squeezenet = _vision("squeezenet1_1")
googlenet = _vision("googlenet", aux_logits=False, init_weights=False)
densenet = _vision("densenet121")
vgg11 = _vision("vgg11")
convnext = _vision("convnext_tiny")
swin = _vision("swin_t")


# ---- images: dense --------------------------------------------------------------------------------------------------


def _twice(into: int, out: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for first in (into, out):
        parts += [nn.Conv2d(first, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.LeakyReLU(0.1)]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    """Four levels, upwards by transposed convolutions or by interpolation."""

    def __init__(self, base: int, transposed: bool) -> None:
        super().__init__()
        widths = [base * 2**level for level in range(4)]
        self.down = nn.ModuleList(_twice(a, b) for a, b in zip([3, *widths], widths))
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 2, 2)
            if transposed
            else nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(a, b, 1))
            for a, b in pairs
        )
        self.merge = nn.ModuleList(_twice(a, b) for a, b in pairs)
        self.last = nn.Conv2d(base, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for level, down in enumerate(self.down):
            x = down(F.max_pool2d(x, 2) if level else x)
            kept.append(x)
        for up, merge, beside in zip(self.up, self.merge, kept[-2::-1]):
            x = merge(torch.cat([up(x), beside], 1))
        return self.last(x)


def _unet(base: int, size: int, transposed: bool) -> Made:
    torch.manual_seed(0)
    model = UNet(base, transposed).eval()
    _settle(model)
    return model, (torch.randn(1, 3, size, size),)


def unet_transposed() -> Made:
    return _unet(24, 192, transposed=True)


def unet_bilinear() -> Made:
    return _unet(32, 160, transposed=False)


# ---- sequences ------------------------------------------------------------------------------------------------------


class Tagger(nn.Module):
    """A recurrent network with a layer on what it gives at each step."""

    def __init__(self, recurrent: nn.RNNBase, outputs: int) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.last = nn.Linear(recurrent.hidden_size * (1 + recurrent.bidirectional), outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.recurrent(x)[0])


def _tagger(kind: type[nn.RNNBase], steps: int, inputs: int, hidden: int, layers: int, **options: bool) -> Made:
    torch.manual_seed(0)
    model = Tagger(kind(inputs, hidden, layers, batch_first=True, **options), 20).eval()
    return model, (torch.randn(1, steps, inputs),)


def lstm_deep() -> Made:
    return _tagger(nn.LSTM, 100, 80, 320, 3)


def lstm_wide() -> Made:
    return _tagger(nn.LSTM, 60, 256, 512, 1)


def lstm_both_ways() -> Made:
    return _tagger(nn.LSTM, 48, 128, 192, 2, bidirectional=True)


def gru() -> Made:
    return _tagger(nn.GRU, 80, 64, 256, 2)


class Causal(nn.Module):
    """Two dilated convolutions that see the past alone, and a residual."""

    def __init__(self, channels: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.first = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, kernel, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first(F.pad(x, (self.past, 0))))
        return F.relu(x + F.relu(self.second(F.pad(y, (self.past, 0)))))


def tcn_causal() -> Made:
    torch.manual_seed(0)
    blocks = [Causal(96, 5, 2**level) for level in range(6)]
    return nn.Sequential(nn.Conv1d(20, 96, 1), *blocks, nn.Conv1d(96, 12, 1)).eval(), (torch.randn(1, 20, 400),)


class Separated(nn.Module):
    """A wide depthwise convolution between two of size 1, with norms and a residual."""

    def __init__(self, channels: int, wide: int, dilation: int) -> None:
        super().__init__()
        deep = nn.Conv1d(wide, wide, 3, padding=dilation, dilation=dilation, groups=wide)
        around = [nn.PReLU(), nn.GroupNorm(1, wide)]
        self.inner = nn.Sequential(
            nn.Conv1d(channels, wide, 1), *around, deep, nn.PReLU(), nn.GroupNorm(1, wide), nn.Conv1d(wide, channels, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x)


def tcn_separated() -> Made:
    torch.manual_seed(0)
    blocks = [Separated(128, 256, 2 ** (level % 6)) for level in range(12)]
    ends = nn.Conv1d(1, 128, 16, 8), nn.ConvTranspose1d(128, 1, 16, 8)
    return nn.Sequential(ends[0], *blocks, ends[1]).eval(), (torch.randn(1, 1, 8000),)


class WaveNet(nn.Module):
    """Gated dilated convolutions whose results are also added up at the end."""

    def __init__(self, channels: int, levels: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, channels, 1)
        self.gates = nn.ModuleList(
            nn.Conv1d(channels, 2 * channels, 2, dilation=2**level, padding=2**level) for level in range(levels)
        )
        self.on = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(levels))
        self.out = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(levels))
        self.last = nn.Conv1d(channels, 64, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        total = torch.zeros_like(x)
        for gates, on, out in zip(self.gates, self.on, self.out):
            a, b = gates(x)[..., : x.shape[-1]].chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total, x = total + out(y), x + on(y)
        return self.last(F.relu(total))


def wavenet() -> Made:
    torch.manual_seed(0)
    return WaveNet(64, 10).eval(), (torch.randn(1, 1, 1000),)


# ---- recommenders ---------------------------------------------------------------------------------------------------


def _layers(*sizes: int) -> nn.Sequential:
    return nn.Sequential(*(part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())))


class Bags(nn.Module):
    """Bags of embeddings, their products with one another, and layers on these."""

    def __init__(self, tables: int, width: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(2000 + 500 * table, width, mode="sum") for table in range(tables))
        self.bottom, self.top = _layers(13, 256, 64, width), _layers(width + (tables + 1) * tables // 2, 256, 128)
        self.last = nn.Linear(128, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        dense = self.bottom(dense)
        rows = torch.stack([dense, *(bag(ids[:, i]) for i, bag in enumerate(self.bags))], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.last(self.top(torch.cat([dense, products], 1))))


def dlrm_bags() -> Made:
    torch.manual_seed(0)
    return Bags(16, 32).eval(), (torch.randn(1, 13), torch.randint(0, 2000, (1, 16, 3)))


class WideAndDeep(nn.Module):
    def __init__(self, tables: int, width: int) -> None:
        super().__init__()
        self.deep = nn.ModuleList(nn.Embedding(1000, width) for _ in range(tables))
        self.wide = nn.Embedding(1000 * tables, 1)
        self.layers, self.last = _layers(tables * width + 8, 512, 256, 64), nn.Linear(64, 1)
        self.register_buffer("first", 1000 * torch.arange(tables))

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        deep = torch.cat([dense, *(table(ids[:, i]) for i, table in enumerate(self.deep))], 1)
        return torch.sigmoid(self.last(self.layers(deep)) + self.wide(ids + self.first).sum(1))


def wide_and_deep() -> Made:
    torch.manual_seed(0)
    return WideAndDeep(20, 24).eval(), (torch.randn(1, 8), torch.randint(0, 1000, (1, 20)))


# ---- transformers ---------------------------------------------------------------------------------------------------


class FirstOutput(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids, return_dict=False)[0]


def _text(name: str, length: int, **options: Any) -> Callable[[], Made]:
    def make() -> Made:
        import transformers

        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(vocab_size=1000, **options)
        model = getattr(transformers, f"{name}Model")(config)
        return FirstOutput(model).eval(), (torch.randint(0, 1000, (1, length)),)

    return make


_SMALL = {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "use_cache": False}
distilbert = _text("DistilBert", 96, n_layers=4, dim=512, n_heads=8, hidden_dim=2048)
electra = _text("Electra", 80, num_hidden_layers=6)
gpt_neox = _text("GPTNeoX", 64, intermediate_size=2048, **_SMALL)
llama = _text("Llama", 72, intermediate_size=1376, num_key_value_heads=4, **_SMALL)


def encoder() -> Made:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, norm_first=True, activation="gelu")
    model = nn.Sequential(nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(256, 30))
    return model.eval(), (torch.randn(1, 150, 256),)
