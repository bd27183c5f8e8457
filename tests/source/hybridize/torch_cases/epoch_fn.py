# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR156 STR161 STR167

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def f(loader):
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def args():
    return (DataLoader(TensorDataset(torch.randn(4, 3), torch.randn(4, 1)), batch_size=2),)
