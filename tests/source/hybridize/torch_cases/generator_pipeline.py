# breaks: none
# says: to_graph safe-if

import torch


def windows(x, size):
    for i in range(0, x.shape[0] - size + 1, size):
        yield x[i : i + size]


def f(x):
    return torch.stack([w.mean(0) for w in windows(x, 2)])


def args():
    return (torch.randn(6, 3),)
