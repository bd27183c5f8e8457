# breaks: Failed to trace builtin operator
# says: no_benefit unsafe STR159

import torch


def f(x):
    return eval("x + 1")


def args():
    return (torch.randn(4),)
