# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR156 STR161 STR167 STR170

import torch
from torch import nn

m = nn.Linear(2, 1)
opt = torch.optim.Adam(m.parameters())
history = []


def f(batches):
    for x, y in batches:
        opt.zero_grad()
        loss = nn.functional.mse_loss(m(x), y)
        loss.backward()
        opt.step()
        history.append(loss.item())
    return torch.tensor(history).mean()


def args():
    return ([(torch.randn(4, 2), torch.randn(4, 1))] * 2,)
