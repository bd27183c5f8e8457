# breaks: Unsupported Tensor.backward() call
# says: keep unsafe STR156 STR161

import torch
from torch import nn

m = nn.Linear(2, 1)


def f(x):
    loss = m(x).sum()
    loss.backward()
    total = 0.0
    for p in m.parameters():
        total += p.grad.norm().item() ** 2
    return total**0.5


def args():
    return (torch.randn(2, 2),)
