# breaks: using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_ops=False`; requires_grad_() intermediate leaked as output
# says: keep unsafe STR161 STR177

import torch
import torch.nn as nn

model = nn.Linear(3, 1)


def f(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = model(mix)
    g = torch.autograd.grad(out.sum(), mix, create_graph=True)[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def args():
    return torch.randn(2, 3), torch.randn(2, 3)


if __name__ == "__main__":
    f(*args())
