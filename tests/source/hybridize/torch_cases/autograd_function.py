# breaks: none
# says: to_graph safe-if

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def f(x):
    return Square.apply(x).sum()


def args():
    return (torch.randn(3, requires_grad=True),)
