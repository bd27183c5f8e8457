# breaks: none
# says: to_graph safe-if

import torch


def f(x, w):
    out = torch.zeros(4)
    for i, row in enumerate(x):
        out = out + row * w[i]
    return out


def args():
    return torch.randn(3, 4), torch.randn(3)
