"""A RoBERTa-like encoder: positions from the padding, a two-layer head, the activation written by hand."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class RobertaConfig:
    def __init__(self, vocab_size=50265, hidden_size=256, layers=4, heads=4, intermediate_size=1024, dropout=0.1):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = layers
        self.num_attention_heads = heads
        self.intermediate_size = intermediate_size
        self.dropout = dropout
        self.pad_token_id = 1
        self.max_position_embeddings = 514


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / 1.4142135623730951))


def position_ids_of(input_ids, padding_idx):
    mask = input_ids.ne(padding_idx).int()
    return (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() + padding_idx


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q = self.query(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        k = self.key(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        v = self.value(x).view(b, n, self.heads, self.head_dim).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        probs = self.dropout(scores.softmax(dim=-1))
        out = probs @ v
        return out.transpose(1, 2).reshape(b, n, d)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = SelfAttention(config)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm1 = nn.LayerNorm(config.hidden_size, eps=1e-5)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.norm2 = nn.LayerNorm(config.hidden_size, eps=1e-5)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.dense(self.attention(x, mask))))
        return self.norm2(x + self.dropout(self.down(gelu(self.up(x)))))


class RobertaForSequenceClassification(nn.Module):
    def __init__(self, config, num_labels=2):
        super().__init__()
        self.padding_idx = config.pad_token_id
        self.words = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=1e-5)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.out_proj = nn.Linear(config.hidden_size, num_labels)

    def forward(self, input_ids):
        padding = input_ids.eq(self.padding_idx)
        mask = padding[:, None, None, :].float() * -1e9
        x = self.words(input_ids) + self.positions(position_ids_of(input_ids, self.padding_idx))
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, mask)
        x = torch.tanh(self.dense(self.dropout(x[:, 0, :])))
        return self.out_proj(self.dropout(x))


def make_model():
    return RobertaForSequenceClassification(RobertaConfig())


def make_batch(batch_size=8, length=64):
    ids = torch.randint(2, 50265, (batch_size, length))
    ids[0, length - 6 :] = 1
    return (ids,), torch.randint(0, 2, (batch_size,))


def make_optimizer(model):
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-5, betas=(0.9, 0.98), eps=1e-6)


def loss_of(model, batch):
    inputs, labels = batch
    return F.cross_entropy(model(*inputs), labels)


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
