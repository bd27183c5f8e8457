# breaks: none
# says: to_graph safe-if

import torch


def f(x, iters: int = 5):
    for i in range(iters):
        x = x - 0.1 * (2 * x)
        if i % 2 == 0:
            x = x.clamp(-1, 1)
    return x


def args():
    return (torch.randn(3),)
