# breaks: none
# says: to_graph safe-if

import torch

cache = {}


def f(x):
    key = f"{x.shape[0]}x{x.shape[1]}"
    if key not in cache:
        cache[key] = torch.arange(x.shape[1]).float()
    return x + cache[key]


def args():
    return (torch.randn(3, 4),)
