# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(logits, tau: float = 1.0, hard: bool = True):
    g = -torch.log(-torch.log(torch.rand_like(logits) + 1e-9) + 1e-9)
    y = F.softmax((logits + g) / tau, dim=-1)
    if hard:
        idx = y.argmax(dim=-1, keepdim=True)
        one = torch.zeros_like(y).scatter_(-1, idx, 1.0)
        y = one - y.detach() + y
    return y


def args():
    return (torch.randn(2, 3),)
