# function: Attn.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self, d=8, max_len=16):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
        self.register_buffer("ck", torch.zeros(1, max_len, d))
        self.register_buffer("cv", torch.zeros(1, max_len, d))

    def forward(self, x, start_pos: int):
        t = x.size(1)
        self.ck[:, start_pos : start_pos + t] = self.k(x)
        self.cv[:, start_pos : start_pos + t] = self.v(x)
        k = self.ck[:, : start_pos + t]
        v = self.cv[:, : start_pos + t]
        return F.scaled_dot_product_attention(self.q(x), k, v)


f = Attn()


def args():
    return torch.randn(1, 2, 8), 3
