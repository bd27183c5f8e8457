# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(x):
    return x + torch.randn_like(x) + F.dropout(x, 0.5, training=True) + torch.randint(0, 3, (4,))


def args():
    return (torch.randn(4),)
