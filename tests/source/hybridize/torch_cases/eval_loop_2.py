# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

model = nn.Linear(3, 2)


def f(loader):
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum()
    return correct


def args():
    return ([(torch.randn(2, 3), torch.tensor([0, 1]))] * 2,)
