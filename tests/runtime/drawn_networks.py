"""Small networks drawn at random, whole ones as people write them: for images, sequences, series and tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Draw = random.Random
SMOOTH = (nn.GELU, nn.SiLU, nn.Tanh, nn.Mish, nn.Softplus)
#: a rounding error may decide what these do, so that float32 is no judge
KINKED = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.Hardswish)


@dataclass(frozen=True)
class Drawn:
    """A network, the batches that it takes, and how many rows they have as a rule."""

    model: nn.Module
    batch: Callable[[int], tuple[Tensor, ...]]
    rows: int


class Plain(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Around(nn.Module):
    """A shortcut around a part."""

    def __init__(self, inner: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.inner, self.shortcut = inner, shortcut or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.inner(x)


class Beside(nn.Module):
    """What several parts make of the same images, one after the other along the channels, cropped to the first."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        made = [part(x) for part in self.parts]
        rows, columns = made[0].shape[2:]
        return torch.cat([one[:, :, :rows, :columns] for one in made], 1)


class Gated(nn.Module):
    """Squeeze and excite."""

    def __init__(self, channels: int, act: nn.Module) -> None:
        super().__init__()
        self.down, self.up, self.act = nn.Conv2d(channels, 3, 1), nn.Conv2d(3, channels, 1), act

    def forward(self, x: Tensor) -> Tensor:
        return x * self.up(self.act(self.down(x.mean((2, 3), keepdim=True)))).sigmoid()


class ChannelNorm(nn.LayerNorm):
    """A layer norm over channels of images."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def image_norm(draw: Draw, channels: int) -> nn.Module:
    groups = draw.choice([count for count in (1, 2, 4) if channels % count == 0])
    return draw.choice([
        nn.BatchNorm2d(channels), nn.BatchNorm2d(channels, momentum=0.3, affine=False), nn.GroupNorm(groups, channels),
        nn.InstanceNorm2d(channels, affine=True), ChannelNorm(channels), nn.Identity(),
    ])  # fmt: skip


def convolution(draw: Draw, c: int, to: int, act: Callable[[], nn.Module]) -> nn.Module:
    size, dilation = draw.choice([1, 2, 3, 3, 5, (1, 3), (3, 1)]), draw.choice([1, 1, 2])
    sizes = size if isinstance(size, tuple) else (size, size)
    groups = draw.choice([count for count in (1, 2, 4) if c % count == 0 and to % count == 0])
    conv = nn.Conv2d(
        c, to, size, draw.choice([1, 1, 2]), tuple((one - 1) * dilation // 2 for one in sizes), dilation, groups,
        draw.random() < 0.5, draw.choice(["zeros", "zeros", "zeros", "reflect"]),
    )  # fmt: skip
    return nn.Sequential(conv, image_norm(draw, to), act())


def image_part(draw: Draw, c: int, acts: tuple[type[nn.Module], ...]) -> tuple[nn.Module, int]:
    """One part of a network for images, and its channels."""

    def act() -> nn.Module:
        return draw.choice(acts)()

    to = draw.choice([4, 6, 8, 12, 20, 32])
    kind = draw.randrange(8)
    if kind <= 1:
        return convolution(draw, c, to, act), to
    if kind == 2:  # an inverted residual
        size = draw.choice([3, 5])
        layers = (nn.Conv2d(c, 2 * c, 1, bias=False), nn.BatchNorm2d(2 * c), act(),
                  nn.Conv2d(2 * c, 2 * c, size, 1, size // 2, groups=2 * c, bias=False), nn.BatchNorm2d(2 * c), act(),
                  Gated(2 * c, act()), nn.Conv2d(2 * c, c, 1, bias=False), nn.BatchNorm2d(c))  # fmt: skip
        return Around(nn.Sequential(*layers)), c
    if kind == 3:  # a residual block
        layers = (nn.Conv2d(c, to, 3, 1, 1, bias=False), image_norm(draw, to), act(), nn.Conv2d(to, to, 3, 1, 1))
        return nn.Sequential(Around(nn.Sequential(*layers), nn.Conv2d(c, to, 1)), image_norm(draw, to), act()), to
    if kind == 4:  # a level of a U-Net
        up: nn.Module = nn.ConvTranspose2d(to, to, 2, 2)
        if draw.random() < 0.5:
            mode = draw.choice(["nearest", "bilinear"])
            up = nn.Sequential(nn.Upsample(scale_factor=2, mode=mode), nn.Conv2d(to, to, 3, 1, 1))
        down = nn.Sequential(nn.Conv2d(c, to, 3, 2, 1), image_norm(draw, to), act(), up)
        return Beside(nn.Identity(), down), c + to
    if kind == 5:  # parallel branches
        branch = nn.Sequential(nn.Conv2d(c, 4, (1, 5), padding=(0, 2)), nn.Conv2d(4, 6, (5, 1), padding=(2, 0)), act())
        return Beside(nn.Conv2d(c, 4, 1), branch, nn.Sequential(nn.AvgPool2d(3, 1, 1), nn.Conv2d(c, 2, 1))), 12
    if kind == 6:
        return nn.Sequential(nn.Conv2d(c, 4 * to, 3, 1, 1), nn.PixelShuffle(2), act(), nn.Conv2d(to, to, 3, 2, 1)), to
    pools: list[nn.Module] = [nn.AvgPool2d(3, 2, 1), nn.AvgPool2d(2, ceil_mode=True), nn.Dropout2d(0.2)]
    if nn.ReLU in acts:
        pools += [nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1)]
    return draw.choice(pools), c


def images(draw: Draw, kinks: bool) -> Drawn:
    acts = SMOOTH + KINKED if kinks else SMOOTH
    first, size = draw.choice([1, 3, 4]), draw.choice([(12, 17), (15, 12), (16, 16), (20, 24)])
    channels, layers = first, []
    x = torch.zeros(2, first, *size)
    for _ in range(draw.randint(2, 5)):
        layer, into = image_part(draw, channels, acts)
        if min(x.shape[2:]) < 6:
            break
        x, channels = layer(x), into
        layers.append(layer)
    heads: list[list[nn.Module]] = [
        [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 5)],
        [nn.Flatten(), nn.Linear(x[0].numel(), 5)],
        [nn.Conv2d(channels, 5, 1)],
        [Plain(lambda x: x.flatten(2).transpose(1, 2)), nn.LayerNorm(channels), nn.Linear(channels, 5)],
    ]
    head = draw.choice(heads)
    rows = draw.choice([2, 3, 4])  # of one image, eager's batch norm gives wrong gradients behind a transposed view
    return Drawn(nn.Sequential(*layers, *head), lambda n: (torch.randn(n, first, *size),), rows)


class Attention(nn.Module):
    def __init__(self, draw: Draw, width: int, heads: int, shared: int) -> None:
        super().__init__()
        self.heads, self.shared = heads, shared
        self.q, self.out = nn.Linear(width, width, bias=draw.random() < 0.5), nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * shared * width // heads)
        self.form = draw.choice(["whole", "causal", "by hand", "with a bias"])
        self.rotary, self.dropped = draw.random() < 0.4, draw.choice([0.0, 0.1])
        self.bias = nn.Parameter(torch.randn(heads, 24, 24) * 0.1) if self.form == "with a bias" else None

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        q = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (part.unflatten(-1, (self.shared, -1)).transpose(1, 2) for part in self.kv(x).chunk(2, -1))
        if self.rotary:
            q, k = rotated(q), rotated(k)
        k, v = (part.repeat_interleave(self.heads // self.shared, 1) for part in (k, v))
        dropped = self.dropped if self.training else 0.0
        if self.form == "by hand":
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(later, -torch.inf)
            mixed = F.dropout(scores.softmax(-1), dropped) @ v
        else:
            mask = None if self.bias is None else self.bias[:, :length, :length]
            mixed = F.scaled_dot_product_attention(q, k, v, mask, dropped, self.form == "causal")
        return self.out(mixed.transpose(1, 2).flatten(2))


def rotated(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    numbers = torch.arange(half, dtype=x.dtype)
    angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] / 100.0 ** (numbers / half)
    cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Experts(nn.Module):
    """The two best of three experts."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(width, 3), nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        made = torch.stack([expert(x) for expert in self.experts], -2)
        return (made.gather(-2, chosen[..., None].expand(*chosen.shape, x.shape[-1])) * weights[..., None]).sum(-2)


class Sequence(nn.Module):
    """A transformer over tokens, with logits, a dictionary or a loss as its result."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        heads = draw.choice([1, 2, 4])
        width, norm = heads * draw.choice([4, 8, 16]), draw.choice([nn.LayerNorm, nn.RMSNorm])
        self.words, self.length, self.result = 31, draw.choice([5, 8, 16]), draw.choice(["logits", "dict", "loss"])
        self.embed = nn.Embedding(self.words, width, padding_idx=draw.choice([None, 0]))
        self.places, self.head = nn.Parameter(torch.randn(self.length, width)), nn.Linear(width, self.words, bias=False)
        self.parts = nn.ModuleList()
        for _ in range(draw.randint(1, 2)):
            act = draw.choice([nn.GELU, nn.SiLU])()
            mlp = nn.Sequential(nn.Linear(width, 2 * width), act, nn.Dropout(0.1), nn.Linear(2 * width, width))
            attention = Attention(draw, width, heads, draw.choice([heads, 1]))
            for inner in (attention, draw.choice([mlp, Experts(width)])):
                part = nn.Sequential(norm(width), inner)
                self.parts.append(Around(part) if draw.random() < 0.8 else nn.Sequential(Around(inner), norm(width)))
        if draw.random() < 0.4:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor | dict[str, Tensor]:
        x = self.embed(tokens) + self.places
        for part in self.parts:
            x = part(x)
        logits = self.head(x)
        if self.result == "loss":
            return F.cross_entropy(logits[:, :-1].reshape(-1, self.words), tokens[:, 1:].reshape(-1))
        return {"logits": logits, "hidden": x} if self.result == "dict" else logits


def sequences(draw: Draw, kinks: bool) -> Drawn:
    model = Sequence(draw)
    return Drawn(model, lambda n: (torch.randint(model.words, (n, model.length)),), draw.choice([1, 2, 3]))


class Series(nn.Module):
    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.entries, self.length, self.last = draw.choice([4, 7]), draw.choice([3, 9]), draw.random() < 0.5
        width, both = draw.choice([5, 8, 16]), draw.random() < 0.4
        kind = draw.choice([nn.LSTM, nn.GRU, nn.RNN])
        self.layers = kind(self.entries, width, draw.choice([1, 2]), batch_first=True, bidirectional=both)
        self.head = nn.Linear(width * (1 + both), 5)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.layers(x)
        return self.head(y[:, -1] if self.last else y)


def series(draw: Draw, kinks: bool) -> Drawn:
    model = Series(draw)
    return Drawn(model, lambda n: (torch.randn(n, model.length, model.entries),), draw.choice([1, 2, 5]))


class Table(nn.Module):
    """Numbers, categories and bags of them; their products, a gated layer, and a pair of results."""

    def __init__(self, draw: Draw, kinks: bool) -> None:
        super().__init__()
        width, hidden, self.numbers = draw.choice([3, 4, 8]), draw.choice([8, 33]), draw.randint(2, 7)
        self.embeds = nn.ModuleList(nn.Embedding(11, width) for _ in range(draw.randint(1, 4)))
        self.bag = nn.EmbeddingBag(20, width, mode=draw.choice(["sum", "mean"]))
        self.norm, self.dense = nn.BatchNorm1d(self.numbers), nn.Linear(self.numbers, width)
        count = len(self.embeds) + 2
        self.cross, self.gate = nn.Linear(count * width, count * width), nn.Linear(hidden, 2 * hidden)
        act = draw.choice((nn.Tanh, nn.GELU, nn.ReLU, nn.PReLU) if kinks else (nn.Tanh, nn.GELU))()
        norm = draw.choice([nn.BatchNorm1d, nn.LayerNorm])(hidden)
        self.mlp = nn.Sequential(
            nn.Linear(count * width + count * (count - 1) // 2, hidden), norm, act, nn.Dropout(0.1)
        )
        self.head = nn.Linear(hidden, 1)
        self.register_buffer("pairs", torch.tril_indices(count, count, -1))

    def forward(self, numbers: Tensor, categories: Tensor, bags: Tensor) -> tuple[Tensor, Tensor]:
        found = [embed(categories[:, i]) for i, embed in enumerate(self.embeds)]
        z = torch.stack([*found, self.bag(bags), self.dense(self.norm(numbers))], 1)
        products = (z @ z.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        flat = z.flatten(1)
        h = self.mlp(torch.cat([flat + flat * self.cross(flat), products], 1))
        gate, carried = self.gate(h).chunk(2, -1)
        h = h * (1 - gate.sigmoid()) + carried.tanh() * gate.sigmoid()
        return self.head(h).squeeze(-1), h.norm(dim=-1).mean()


def tables(draw: Draw, kinks: bool) -> Drawn:
    model = Table(draw, kinks)
    count = len(model.embeds)
    return Drawn(
        model,
        lambda n: (torch.randn(n, model.numbers), torch.randint(11, (n, count)), torch.randint(20, (n, 3))),
        draw.choice([4, 7]),
    )


KINDS: dict[str, Callable[[Draw, bool], Drawn]] = {
    "images": images, "sequences": sequences, "series": series, "tables": tables,
}  # fmt: skip
