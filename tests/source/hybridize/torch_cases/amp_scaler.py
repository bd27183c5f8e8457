# breaks: Attempted to inline function marked as skipped; Unsupported Tensor.backward() call; Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR161 STR167

import torch
from torch import nn

m = nn.Linear(2, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=False)


def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = m(x).float().sum()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return loss.detach()


def args():
    return (torch.randn(2),)
