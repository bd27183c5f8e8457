# breaks: using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`
# says: keep unsafe STR161

import torch


def f(x):
    y = (x * x).sum()
    (g,) = torch.autograd.grad(y, x)
    return g


def args():
    return (torch.rand(4, requires_grad=True),)
