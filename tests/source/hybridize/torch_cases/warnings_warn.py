# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR158

import warnings

import torch


def f(x):
    warnings.warn("careful")
    return x + 1


def args():
    return (torch.randn(4),)
