# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR161 STR167

import torch
from torch import nn

m = nn.Linear(2, 1)
opt = torch.optim.AdamW(m.parameters())


def f(batches, accum: int = 2):
    for i, x in enumerate(batches):
        loss = m(x).mean() / accum
        loss.backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
    return loss


def args():
    return ([torch.randn(3, 2), torch.randn(3, 2)],)
