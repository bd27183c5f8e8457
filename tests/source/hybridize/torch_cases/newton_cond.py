# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    for _ in range(3):
        x = torch.cond(x.sum() > 0, lambda t: t - 0.1, lambda t: t + 0.1, (x,))
    return x


def args():
    return (torch.randn(3),)
