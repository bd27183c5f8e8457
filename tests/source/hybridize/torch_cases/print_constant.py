# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def f(x):
    print("hello")
    return x + 1


def args():
    return (torch.randn(4),)
