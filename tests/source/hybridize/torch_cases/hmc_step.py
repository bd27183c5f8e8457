# breaks: using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`; requires_grad_() intermediate leaked as output
# says: keep unsafe STR161 STR177

import torch


def potential(q):
    return 0.5 * (q**2).sum()


def f(q, p, eps=0.1):
    q = q.detach().requires_grad_(True)
    g = torch.autograd.grad(potential(q), q)[0]
    p = p - 0.5 * eps * g
    return (q + eps * p).detach(), p


def args():
    return torch.randn(3), torch.randn(3)
