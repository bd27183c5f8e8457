# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Linear(3, 3)


def f(x):
    reg = sum(p.pow(2).sum() for p in m.parameters())
    return m(x).sum() + 1e-3 * reg


def args():
    return (torch.randn(2, 3),)
