"""A T5-like encoder and decoder: relative positions as a bias, RMS norms, gated feed-forward layers."""

import math

import torch
from torch import nn


class T5LayerNorm(nn.Module):
    """A norm without mean and without bias."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states


class NewGELUActivation(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class T5DenseGatedActDense(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.wi_0 = nn.Linear(d_model, d_ff, bias=False)
        self.wi_1 = nn.Linear(d_model, d_ff, bias=False)
        self.wo = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.act = NewGELUActivation()

    def forward(self, hidden_states):
        hidden_gelu = self.act(self.wi_0(hidden_states))
        hidden_linear = self.wi_1(hidden_states)
        hidden_states = hidden_gelu * hidden_linear
        hidden_states = self.dropout(hidden_states)
        return self.wo(hidden_states)


class T5Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout, is_decoder=False, has_relative_attention_bias=False):
        super().__init__()
        self.is_decoder = is_decoder
        self.has_relative_attention_bias = has_relative_attention_bias
        self.n_heads = n_heads
        self.key_value_proj_dim = d_model // n_heads
        self.dropout = dropout
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        if self.has_relative_attention_bias:
            self.relative_attention_bias = nn.Embedding(32, n_heads)

    def bucket(self, relative_position, num_buckets=32, max_distance=128):
        buckets = 0
        if not self.is_decoder:
            num_buckets //= 2
            buckets = (relative_position > 0).to(torch.long) * num_buckets
            relative_position = torch.abs(relative_position)
        else:
            relative_position = -torch.min(relative_position, torch.zeros_like(relative_position))
        max_exact = num_buckets // 2
        is_small = relative_position < max_exact
        large = max_exact + (
            torch.log(relative_position.float().clamp(min=1) / max_exact)
            / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).to(torch.long)
        large = torch.min(large, torch.full_like(large, num_buckets - 1))
        return buckets + torch.where(is_small, relative_position, large)

    def compute_bias(self, query_length, key_length):
        context = torch.arange(query_length)[:, None]
        memory = torch.arange(key_length)[None, :]
        values = self.relative_attention_bias(self.bucket(memory - context))
        return values.permute([2, 0, 1]).unsqueeze(0)

    def forward(self, hidden_states, key_value_states=None, position_bias=None):
        batch_size = hidden_states.size(0)
        states = hidden_states if key_value_states is None else key_value_states

        def split(x):
            return x.view(batch_size, -1, self.n_heads, self.key_value_proj_dim).transpose(1, 2)

        query_states = split(self.q(hidden_states))
        key_states = split(self.k(states))
        value_states = split(self.v(states))

        scores = torch.matmul(query_states, key_states.transpose(3, 2))
        scores = scores + position_bias
        attn_weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        attn_weights = nn.functional.dropout(attn_weights, p=self.dropout, training=self.training)
        attn_output = torch.matmul(attn_weights, value_states)
        attn_output = (
            attn_output.transpose(1, 2).contiguous().view(batch_size, -1, self.n_heads * self.key_value_proj_dim)
        )
        return self.o(attn_output)


class T5Block(nn.Module):
    def __init__(self, d_model, d_ff, n_heads, dropout, is_decoder, first):
        super().__init__()
        self.norms = nn.ModuleList([T5LayerNorm(d_model) for _ in range(3 if is_decoder else 2)])
        self.attention = T5Attention(d_model, n_heads, dropout, is_decoder, has_relative_attention_bias=first)
        self.cross = T5Attention(d_model, n_heads, dropout, is_decoder) if is_decoder else None
        self.ff = T5DenseGatedActDense(d_model, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, position_bias, encoded=None, cross_bias=None):
        x = x + self.dropout(self.attention(self.norms[0](x), position_bias=position_bias))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms[1](x), encoded, position_bias=cross_bias))
        return x + self.dropout(self.ff(self.norms[-1](x)))


class T5Stack(nn.Module):
    def __init__(self, d_model, d_ff, n_heads, layers, dropout, is_decoder):
        super().__init__()
        blocks = [T5Block(d_model, d_ff, n_heads, dropout, is_decoder, first=i == 0) for i in range(layers)]
        self.block = nn.ModuleList(blocks)
        self.final_layer_norm = T5LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.is_decoder = is_decoder

    def forward(self, x, encoded=None):
        length = x.size(1)
        bias = self.block[0].attention.compute_bias(length, length)
        cross_bias = None
        if self.is_decoder:
            causal = torch.triu(torch.full((length, length), -1e9), diagonal=1)
            bias = bias + causal
            cross_bias = torch.zeros(1, 1, 1, encoded.size(1))
        x = self.dropout(x)
        for block in self.block:
            x = block(x, bias, encoded, cross_bias)
        return self.dropout(self.final_layer_norm(x))


class T5ForConditionalGeneration(nn.Module):
    def __init__(self, vocab_size=8192, d_model=256, d_ff=512, n_heads=4, layers=3, dropout=0.1):
        super().__init__()
        self.model_dim = d_model
        self.shared = nn.Embedding(vocab_size, d_model)
        self.encoder = T5Stack(d_model, d_ff, n_heads, layers, dropout, is_decoder=False)
        self.decoder = T5Stack(d_model, d_ff, n_heads, layers, dropout, is_decoder=True)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, input_ids, decoder_input_ids):
        encoded = self.encoder(self.shared(input_ids))
        decoded = self.decoder(self.shared(decoder_input_ids), encoded)
        return self.lm_head(decoded * (self.model_dim**-0.5))


def make_model():
    return T5ForConditionalGeneration()


def make_batch(batch_size=4, length=64):
    targets = torch.randint(0, 8192, (batch_size, length))
    shifted = torch.cat([torch.zeros(batch_size, 1, dtype=torch.long), targets[:, :-1]], dim=1)
    return (torch.randint(0, 8192, (batch_size, length)), shifted), targets


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)


def loss_of(model, batch):
    inputs, targets = batch
    logits = model(*inputs)
    return nn.CrossEntropyLoss(ignore_index=-100)(logits.view(-1, logits.size(-1)), targets.view(-1))


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
