# breaks: none
# says: to_graph safe-if

import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


def f(x, bits: int = 8):
    s = x.abs().max() / (2 ** (bits - 1) - 1)
    return Round.apply(x / s) * s


def args():
    return (torch.randn(3),)
