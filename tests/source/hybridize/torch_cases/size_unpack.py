# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    b, n = x.size()
    return x.expand(b, n) + x.size(0)


def args():
    return (torch.randn(4, 6),)
