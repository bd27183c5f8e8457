# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def f(x):
    print("x", x.shape)
    return x * 2


def args():
    return (torch.randn(5),)
