# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import torch


def f(x):
    if "a" in dir(x):
        return x
    return x + 1


def args():
    return (torch.randn(2),)
