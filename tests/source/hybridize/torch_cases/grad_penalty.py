# breaks: using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`; requires_grad_() intermediate leaked as output
# says: keep unsafe STR161 STR177

import torch
import torch.nn as nn

D = nn.Linear(4, 1)


def f(real, fake):
    eps = torch.rand(real.size(0), 1)
    x = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = D(x)
    g = torch.autograd.grad(out.sum(), x, create_graph=True)[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def args():
    return torch.randn(3, 4), torch.randn(3, 4)
