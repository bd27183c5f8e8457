# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def f(x, verbose=True):
    y = x.cumsum(0)
    if verbose:
        print("done")
    return y


def args():
    return (torch.randn(3),)
