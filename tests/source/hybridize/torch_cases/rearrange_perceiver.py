# breaks: none
# says: to_graph safe-if

import torch


def f(x, heads: int = 2):
    b, n, d = x.shape
    x = x.reshape(b, n, heads, d // heads).movedim(2, 1)
    return x.flatten(0, 1)


def args():
    return (torch.randn(2, 3, 8),)
