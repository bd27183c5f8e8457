# breaks: none
# says: to_graph safe-if

import torch


class Ste(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return (x * s).round() / s

    @staticmethod
    def backward(ctx, g):
        return g, None


def f(x):
    return Ste.apply(x, 8.0)


def args():
    return (torch.randn(3, requires_grad=True),)
