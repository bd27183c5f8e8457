# breaks: Call to `torch._dynamo.graph_break()`; Attempted to inline function marked as skipped; Unsupported Tensor.backward() call
# says: keep unsafe STR161 STR167

import torch
from torch import nn

m = nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)


def f(x):
    def closure():
        opt.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        return loss

    return opt.step(closure)


def args():
    return (torch.randn(4, 2),)
