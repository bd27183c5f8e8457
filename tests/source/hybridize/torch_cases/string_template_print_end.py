# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def f(x):
    y = x + 1
    print(f"mean {y.mean()}")
    return y


def args():
    return (torch.rand(3),)
