# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x, y, p: float):
    outs = []
    for t in range(x.size(0)):
        inp = y[t] if random.random() < p else x[t]
        outs.append(inp * 2)
    return torch.stack(outs)


def args():
    return torch.randn(3, 2), torch.randn(3, 2), 0.5
