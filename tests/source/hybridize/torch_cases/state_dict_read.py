# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Linear(3, 3)


def f(x):
    w = m.state_dict()["weight"]
    return x @ w


def args():
    return (torch.randn(2, 3),)
