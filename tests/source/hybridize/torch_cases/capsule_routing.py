# breaks: none
# says: to_graph safe-if

import torch


def squash(s):
    n = (s**2).sum(-1, keepdim=True)
    return n / (1 + n) * s / (n.sqrt() + 1e-8)


def f(u, iters: int = 3):
    b = torch.zeros(u.shape[:-1])
    for _ in range(iters):
        c = b.softmax(-1)
        v = squash((c.unsqueeze(-1) * u).sum(1))
        b = b + (u * v.unsqueeze(1)).sum(-1)
    return v


def args():
    return (torch.randn(2, 3, 4),)
