# function: Block.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).bool(), persistent=False)
        self.ln = nn.LayerNorm(8)

    def forward(self, x):
        t = x.size(1)
        s = self.ln(x) @ x.transpose(1, 2)
        s = s.masked_fill(~self.mask[:t, :t], -1e9)
        return torch.softmax(s, dim=-1) @ x


f = Block()


def args():
    return (torch.randn(2, 5, 8),)
