# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

model = nn.Linear(4, 3)


def f(x):
    w = model.state_dict()["weight"]
    return x + w.sum()


def args():
    return (torch.randn(2),)
