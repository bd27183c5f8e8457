# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

loss_fn = nn.CrossEntropyLoss()
model = nn.Linear(4, 3)


def f(x, y):
    return loss_fn(model(x), y)


def args():
    return torch.randn(2, 4), torch.tensor([0, 1])
