"""Networks over sequences at small sizes, as people write them: convolutions in time, recurrence, transformers."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from training_networks import Training, classes


class _TemporalBlock(nn.Module):
    """A block of a temporal convolutional network: causal, dilated, cropped on the right."""

    def __init__(self, inside: int, outside: int, dilation: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(inside, outside, 3, padding=2 * dilation, dilation=dilation)
        self.conv2 = nn.Conv1d(outside, outside, 3, padding=2 * dilation, dilation=dilation)
        self.crop, self.down = 2 * dilation, nn.Conv1d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out = F.dropout(F.relu(self.conv1(x)[:, :, : -self.crop]), 0.2, self.training)
        out = F.dropout(F.relu(self.conv2(out)[:, :, : -self.crop]), 0.2, self.training)
        return F.relu(out + self.down(x))


class _TemporalNet(nn.Module):
    def __init__(self, inside: int = 8, width: int = 48, classes: int = 10) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(_TemporalBlock(width if n else inside, width, 2**n) for n in range(5)))
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.blocks(x)[:, :, -1])
        return scores


def temporal_net() -> Training:
    return Training(_TemporalNet(), (torch.randn(8, 8, 400),), classes(10, 8))


class _WaveNet(nn.Module):
    def __init__(self, width: int = 32, layers: int = 8, levels: int = 256) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, width, 1)
        self.dilated = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**n) for n in range(layers))
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.skip = nn.ModuleList(nn.Conv1d(width, 64, 1) for _ in range(layers))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(64, 64, 1), nn.ReLU(), nn.Conv1d(64, levels, 1))

    def forward(self, x: Tensor) -> Tensor:
        x, skips = self.stem(x), torch.zeros(())
        for number, (dilated, mix, skip) in enumerate(zip(self.dilated, self.mix, self.skip)):
            left, right = dilated(F.pad(x, (2**number, 0))).chunk(2, 1)
            gated = torch.tanh(left) * torch.sigmoid(right)
            skips = skips + skip(gated)
            x = x + mix(gated)
        levels: Tensor = self.head(skips).transpose(1, 2)
        return levels


def wavenet() -> Training:
    return Training(_WaveNet(), (torch.randn(4, 1, 1000),), classes(256, 4, 1000))


class _Attending(nn.Module):
    """A translator with additive attention over a GRU's states, the decoder fed with what is wanted."""

    def __init__(self, words: int = 1000, width: int = 128) -> None:
        super().__init__()
        self.source, self.wanted = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.query, self.key, self.energy = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.head = nn.Linear(2 * width, words)

    def forward(self, source: Tensor, wanted: Tensor) -> Tensor:
        states, last = self.encoder(self.source(source))
        outputs, _ = self.decoder(self.wanted(wanted), last)
        energies = self.energy(torch.tanh(self.query(outputs)[:, :, None] + self.key(states)[:, None])).squeeze(-1)
        scores: Tensor = self.head(torch.cat([outputs, energies.softmax(-1) @ states], -1))
        return scores


def seq2seq() -> Training:
    return Training(_Attending(), (torch.randint(1000, (16, 20)), torch.randint(1000, (16, 20))), classes(1000, 16, 20))


class _LSTMClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(10000, 100), nn.Linear(256, 2)
        self.lstm = nn.LSTM(100, 256, batch_first=True)

    def forward(self, words: Tensor) -> Tensor:
        _, (hidden, _) = self.lstm(self.embedding(words))
        scores: Tensor = self.head(hidden[-1])
        return scores


def lstm_classifier() -> Training:
    return Training(_LSTMClassifier(), (torch.randint(10000, (32, 50)),), classes(2, 32))


def _encoder(width: int, heads: int, layers: int, batch: int, length: int, first: bool, norm_first: bool) -> Training:
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=first, norm_first=norm_first)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    shape = (batch, length, width) if first else (length, batch, width)
    wanted = torch.randn(shape)
    return Training(model, (torch.randn(shape),), lambda made: F.mse_loss(made, wanted.to(made.dtype)))


def encoder_batch_first() -> Training:
    return _encoder(256, 8, 3, 8, 64, True, True)


def encoder_length_first() -> Training:
    return _encoder(128, 4, 2, 8, 50, False, False)


class _Llama(nn.Module):
    """Rotary positions, RMSNorm, SwiGLU, grouped heads."""

    class Layer(nn.Module):
        def __init__(self, width: int, heads: int, groups: int) -> None:
            super().__init__()
            self.heads, self.groups, self.head = heads, groups, width // heads
            inner = groups * self.head
            self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, inner, bias=False)
            self.value = nn.Linear(width, inner, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            inner = 8 * width // 3
            self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
            self.down = nn.Linear(inner, width, bias=False)
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)

        @staticmethod
        def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            left, right = x.chunk(2, -1)
            return x * cos + torch.cat([-right, left], -1) * sin

        def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            batch, length, width = x.shape
            y = self.norm1(x)
            query = self.query(y).view(batch, length, self.heads, self.head).transpose(1, 2)
            key = self.key(y).view(batch, length, self.groups, self.head).transpose(1, 2)
            value = self.value(y).view(batch, length, self.groups, self.head).transpose(1, 2)
            query, key = self.rotate(query, cos, sin), self.rotate(key, cos, sin)
            key = key.repeat_interleave(self.heads // self.groups, 1)
            value = value.repeat_interleave(self.heads // self.groups, 1)
            seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
            y = self.norm2(x)
            out: Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
            return out

    def __init__(self, words: int = 4000, width: int = 256, heads: int = 8, groups: int = 2, layers: int = 4) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(self.Layer(width, heads, groups) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)
        size = width // heads
        angles = torch.arange(256)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, cos, sin)
        scores: Tensor = self.head(self.norm(x))
        return scores


def llama() -> Training:
    return Training(_Llama(), (torch.randint(4000, (4, 64)),), classes(4000, 4, 64))


class _NanoGPT(nn.Module):
    """As minGPT writes attention: scores, mask, softmax, dropout."""

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, length: int) -> None:
            super().__init__()
            self.ln_1, self.ln_2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            hidden = 4 * width
            self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width), nn.Dropout(0.1))
            self.drop = nn.Dropout(0.1)
            self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

        def forward(self, x: Tensor) -> Tensor:
            b, t, c = x.shape
            parts = self.c_attn(self.ln_1(x)).split(c, 2)
            q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = self.drop(F.softmax(att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1))
            x = x + self.drop(self.c_proj((att @ v).transpose(1, 2).contiguous().view(b, t, c)))
            out: Tensor = x + self.mlp(self.ln_2(x))
            return out

    def __init__(self, words: int = 65, width: int = 128, layers: int = 4, length: int = 64) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(self.Block(width, 4, length) for _ in range(layers)))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        scores: Tensor = self.head(self.ln_f(self.blocks(x)))
        return scores


def nano_gpt() -> Training:
    return Training(_NanoGPT(), (torch.randint(65, (12, 64)),), classes(65, 12, 64))


def t5() -> Training:
    import transformers

    config = transformers.T5Config(
        vocab_size=2000, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config).train()

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, source: Tensor, wanted: Tensor) -> Tensor:
            logits: Tensor = self.model(input_ids=source, decoder_input_ids=wanted, use_cache=False).logits
            return logits

    return Training(Logits(), (torch.randint(2000, (4, 40)), torch.randint(2000, (4, 24))), classes(2000, 4, 24))


class _TwoTowers(nn.Module):
    """As CLIP: patches and words into one space, the temperature learns."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.patches, self.words = nn.Conv2d(3, width, 16, 16), nn.Embedding(1000, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.images = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.texts = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images: Tensor, words: Tensor) -> Tensor:
        image = F.normalize(self.images(self.patches(images).flatten(2).transpose(1, 2)).mean(1), dim=-1)
        text = F.normalize(self.texts(self.words(words)).mean(1), dim=-1)
        return self.scale.exp() * image @ text.t()


def clip() -> Training:
    def loss(scores: Tensor) -> Tensor:
        wanted = torch.arange(scores.shape[0])
        return (F.cross_entropy(scores, wanted) + F.cross_entropy(scores.t(), wanted)) / 2

    return Training(_TwoTowers(), (torch.randn(16, 3, 96, 96), torch.randint(1000, (16, 20))), loss)


_ALL = (
    temporal_net, wavenet, seq2seq, lstm_classifier,
    encoder_batch_first, encoder_length_first, llama, nano_gpt, t5, clip,
)  # fmt: skip
SEQUENCE_NETWORKS: dict[str, Callable[[], Training]] = {each.__name__: each for each in _ALL}
