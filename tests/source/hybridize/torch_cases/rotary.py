# breaks: none
# says: to_graph safe-if

import torch


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def f(q, k, theta=10000.0):
    d = q.size(-1)
    inv = 1.0 / (theta ** (torch.arange(0, d, 2).float() / d))
    t = torch.arange(q.size(1)).float()
    emb = torch.cat([torch.outer(t, inv)] * 2, dim=-1)
    cos, sin = emb.cos(), emb.sin()
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def args():
    return torch.randn(2, 5, 8), torch.randn(2, 5, 8)
