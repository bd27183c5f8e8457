# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Linear(2, 2)


def f(x):
    m.zero_grad()
    return m(x)


def args():
    return (torch.randn(3, 2),)
