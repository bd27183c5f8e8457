# breaks: invalid call to builtin op handler
# says: keep unsafe STR159

import torch


def f(x):
    return max([x, x[:1]], key=lambda t: t.sum())


def args():
    return (torch.randn(2),)
