"""A GPT-2-like language model: Conv1D projections, a causal mask kept as a buffer, tied embeddings."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Conv1D(nn.Module):
    """A linear layer whose weight is stored transposed."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(size_out)


class NewGELU(nn.Module):
    def forward(self, input: Tensor) -> Tensor:
        return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * torch.pow(input, 3.0))))


class Attention(nn.Module):
    def __init__(self, width, heads, context, dropout):
        super().__init__()
        self.n_head = heads
        self.split_size = width
        self.register_buffer(
            "bias", torch.tril(torch.ones(context, context, dtype=torch.bool)).view(1, 1, context, context)
        )
        self.c_attn = Conv1D(3 * width, width)
        self.c_proj = Conv1D(width, width)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)

    def _attn(self, q, k, v):
        w = torch.matmul(q, k.transpose(-1, -2))
        w = w / math.sqrt(v.size(-1))
        n = k.size(-2)
        w = w.masked_fill(~self.bias[:, :, :n, :n], torch.finfo(w.dtype).min)
        w = nn.functional.softmax(w, dim=-1)
        w = self.attn_dropout(w)
        return torch.matmul(w, v)

    def merge_heads(self, x):
        x = x.permute(0, 2, 1, 3).contiguous()
        return x.view(*x.size()[:-2], x.size(-2) * x.size(-1))

    def split_heads(self, x):
        x = x.view(*x.size()[:-1], self.n_head, x.size(-1) // self.n_head)
        return x.permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = self.c_attn(x).split(self.split_size, dim=2)
        a = self._attn(self.split_heads(query), self.split_heads(key), self.split_heads(value))
        return self.resid_dropout(self.c_proj(self.merge_heads(a)))


class Block(nn.Module):
    def __init__(self, width, heads, context, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-5)
        self.attn = Attention(width, heads, context, dropout)
        self.ln_2 = nn.LayerNorm(width, eps=1e-5)
        self.c_fc = Conv1D(4 * width, width)
        self.act = NewGELU()
        self.c_proj = Conv1D(width, 4 * width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        h = self.c_proj(self.act(self.c_fc(self.ln_2(x))))
        return x + self.dropout(h)


class GPT2(nn.Module):
    def __init__(self, vocab=8192, width=256, layers=4, heads=4, context=128, dropout=0.1):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([Block(width, heads, context, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        pos = torch.arange(0, idx.size(-1), dtype=torch.long, device=idx.device)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def make_model():
    return GPT2()


def make_batch(batch_size=4, length=128):
    tokens = torch.randint(0, 8192, (batch_size, length + 1))
    return (tokens[:, :-1],), tokens[:, 1:]


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)


def loss_of(model, batch):
    (tokens,), targets = batch
    logits = model(tokens)
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
