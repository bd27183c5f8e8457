# breaks: none
# says: to_graph safe-if

import functools

import torch


@functools.cache
def causal(n):
    return torch.tril(torch.ones(n, n))


def f(x):
    return x.masked_fill(causal(x.shape[-1]) == 0, 0.0)


def args():
    return (torch.randn(3, 3),)
