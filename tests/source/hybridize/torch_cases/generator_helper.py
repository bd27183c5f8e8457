# breaks: none
# says: to_graph safe-if

import torch


def chunks(x, n):
    for i in range(0, x.size(0), n):
        yield x[i : i + n]


def f(x):
    return torch.stack([c.sum() for c in chunks(x, 2)])


def args():
    return (torch.randn(6, 3),)
