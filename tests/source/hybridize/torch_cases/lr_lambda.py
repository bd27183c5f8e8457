# breaks: none
# says: to_graph safe-if

import math

import torch


def f(x, step, warmup=10, total=100):
    if step < warmup:
        s = step / warmup
    else:
        s = 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    return x * s


def args():
    return torch.randn(3), 20
