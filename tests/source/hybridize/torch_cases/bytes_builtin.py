# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import torch


def f(x):
    b = bytes(3)
    return x + len(b)


def args():
    return (torch.randn(2),)
