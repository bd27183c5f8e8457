# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

m = nn.Linear(3, 3)


def f(x):
    return checkpoint(m, x, use_reentrant=False).sum()


def args():
    return (torch.randn(2, 3, requires_grad=True),)
