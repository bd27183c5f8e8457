# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Linear(2, 2)


def f(x):
    m.weight.data.clamp_(-1, 1)
    return m(x)


def args():
    return (torch.randn(3, 2),)
