# breaks: Attempted to inline function marked as skipped
# says: keep unsafe STR167

import torch
from torch import nn

m = nn.Linear(2, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
sch = torch.optim.lr_scheduler.StepLR(opt, 10)


def f(x):
    loss = m(x).sum()
    sch.step()
    return loss


def args():
    return (torch.randn(2),)
