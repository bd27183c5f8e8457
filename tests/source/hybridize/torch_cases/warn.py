# breaks: Attempted to call function marked as skipped
# says: to_graph safe-if STR158

import warnings

import torch


def f(x):
    if x.dim() == 1:
        warnings.warn("1d input")
        x = x[None]
    return x @ x.T


def args():
    return (torch.randn(3),)
