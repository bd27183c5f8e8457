# breaks: using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`; requires_grad_() intermediate leaked as output
# says: keep unsafe STR161 STR177

import torch


def g(x):
    return x.pow(3).sum()


def f(x):
    x = x.detach().requires_grad_(True)
    y = g(x)
    (d,) = torch.autograd.grad(y, x)
    return d


def args():
    return (torch.randn(3),)
