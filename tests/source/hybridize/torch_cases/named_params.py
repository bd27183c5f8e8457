# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))


def f(x):
    l2 = torch.zeros(())
    for name, p in m.named_parameters():
        if "bias" not in name:
            l2 = l2 + p.norm()
    return m(x).mean() + l2


def args():
    return (torch.randn(2, 3),)
