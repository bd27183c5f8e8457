"""A GPT-Neo-like language model: every other layer looks only at a window, scores are not scaled."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def new_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


class GPTNeoSelfAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, max_positions, window_size=None):
        super().__init__()
        bias = torch.tril(torch.ones((max_positions, max_positions), dtype=torch.bool))
        if window_size is not None:
            # Local attention hides what is further back than the window.
            bias = torch.bitwise_xor(bias, torch.tril(bias, -window_size))
        self.register_buffer("bias", bias.view(1, 1, max_positions, max_positions), persistent=False)
        self.register_buffer("masked_bias", torch.tensor(-1e9), persistent=False)
        self.attn_dropout = nn.Dropout(0.0)
        self.resid_dropout = nn.Dropout(0.0)
        self.num_heads = num_heads
        self.head_dim = hidden_size // num_heads
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.out_proj = nn.Linear(hidden_size, hidden_size, bias=True)

    def _split_heads(self, tensor):
        return tensor.view(*tensor.size()[:-1], self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, hidden_states):
        query = self._split_heads(self.q_proj(hidden_states))
        key = self._split_heads(self.k_proj(hidden_states))
        value = self._split_heads(self.v_proj(hidden_states))
        length = hidden_states.size(1)

        # The scores are kept in float32 whatever the weights are.
        scores = torch.matmul(query.to(torch.float32), key.to(torch.float32).transpose(-1, -2))
        causal = self.bias[:, :, :length, :length]
        scores = torch.where(causal, scores, self.masked_bias.to(scores.dtype))
        weights = nn.functional.softmax(scores, dim=-1)
        weights = weights.to(value.dtype)
        weights = self.attn_dropout(weights)
        output = torch.matmul(weights, value)

        output = output.permute(0, 2, 1, 3).contiguous()
        output = output.view(*output.size()[:-2], self.num_heads * self.head_dim)
        return self.resid_dropout(self.out_proj(output))


class GPTNeoMLP(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.c_fc = nn.Linear(hidden_size, 4 * hidden_size)
        self.c_proj = nn.Linear(4 * hidden_size, hidden_size)

    def forward(self, hidden_states):
        hidden_states = self.c_fc(hidden_states)
        hidden_states = new_gelu(hidden_states)
        return self.c_proj(hidden_states)


class GPTNeoBlock(nn.Module):
    def __init__(self, hidden_size, num_heads, max_positions, window_size):
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_size)
        self.attn = GPTNeoSelfAttention(hidden_size, num_heads, max_positions, window_size)
        self.ln_2 = nn.LayerNorm(hidden_size)
        self.mlp = GPTNeoMLP(hidden_size)

    def forward(self, hidden_states):
        hidden_states = hidden_states + self.attn(self.ln_1(hidden_states))
        return hidden_states + self.mlp(self.ln_2(hidden_states))


class GPTNeoForCausalLM(nn.Module):
    def __init__(self, vocab_size=8192, hidden_size=256, num_layers=4, num_heads=4, max_positions=256, window_size=64):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, hidden_size)
        self.wpe = nn.Embedding(max_positions, hidden_size)
        windows = [None if i % 2 == 0 else window_size for i in range(num_layers)]
        self.h = nn.ModuleList(GPTNeoBlock(hidden_size, num_heads, max_positions, window) for window in windows)
        self.ln_f = nn.LayerNorm(hidden_size)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def forward(self, input_ids):
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        hidden_states = self.wte(input_ids) + self.wpe(positions)
        for block in self.h:
            hidden_states = block(hidden_states)
        return self.lm_head(self.ln_f(hidden_states))


def make_model():
    return GPTNeoForCausalLM()


def make_batch(batch_size=2, length=256):
    tokens = torch.randint(0, 8192, (batch_size, length + 1))
    return (tokens[:, :-1],), tokens[:, 1:]


def make_optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=6e-4, betas=(0.9, 0.95))


def loss_of(model, batch):
    inputs, targets = batch
    logits = model(*inputs)
    probabilities = F.log_softmax(logits.view(-1, logits.size(-1)), dim=-1)
    return F.nll_loss(probabilities, targets.reshape(-1))


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
