# breaks: none
# says: unknown safe-if STR154

import torch


def f(a, b):
    a, b = b, a
    c = a * 2
    del a
    return c + b


def args():
    return torch.randn(2), torch.randn(2)
