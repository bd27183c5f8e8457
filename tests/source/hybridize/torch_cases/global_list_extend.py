# breaks: none
# says: keep safe-if STR170

import torch

TRACE = []


def f(x):
    y = x * 2
    TRACE.extend([tuple(y.shape), y.dim()])
    return y


def args():
    return (torch.randn(3),)
