# breaks: none
# says: to_graph safe-if

import torch

CACHE = {}


def get_mask(n):
    if n not in CACHE:
        CACHE[n] = torch.ones(n, n).tril()
    return CACHE[n]


def f(x):
    return x.masked_fill(get_mask(x.size(-1)) == 0, 0)


def args():
    return (torch.randn(3, 3),)
