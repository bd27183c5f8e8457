import torch
import torch.nn.functional as F
from torch import nn

from strop.bench.flops import count_flops


def test_a_linear_layer_counts_two_per_multiply_add():
    assert count_flops(nn.Linear(32, 64), (torch.ones(5, 32),), {}) == 2 * 5 * 32 * 64


def test_attention_counts_both_products():
    class Attention(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    assert count_flops(Attention(), (torch.ones(1, 2, 16, 8),), {}) == 2 * 2 * 2 * 16 * 16 * 8


def test_an_lstm_counts_four_gates_per_step_and_layer():
    lstm = nn.LSTM(24, 16, num_layers=2, batch_first=True)
    per_step = 2 * 4 * 16 * (24 + 16) + 2 * 4 * 16 * (16 + 16)
    assert count_flops(lstm, (torch.ones(1, 7, 24),), {}) == 7 * per_step


def test_keyword_arguments_reach_the_model():
    class Scaled(nn.Module):
        def forward(self, x, *, weight):
            return x @ weight

    assert count_flops(Scaled(), (torch.ones(3, 4),), {"weight": torch.ones(4, 5)}) == 2 * 3 * 4 * 5
