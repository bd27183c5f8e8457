# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR161 STR167

import torch
import torch.nn as nn
import torch.nn.functional as F

G = nn.Linear(8, 4)
D = nn.Linear(4, 1)
opt = torch.optim.SGD(D.parameters(), lr=0.1)


def f(real, z):
    opt.zero_grad()
    loss = F.softplus(-D(real)).mean() + F.softplus(D(G(z).detach())).mean()
    loss.backward()
    opt.step()
    return loss.detach()


def args():
    return torch.randn(3, 4), torch.randn(3, 8)
