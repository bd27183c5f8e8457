# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.vmap(lambda t: t.sum() * t)(x)


def args():
    return (torch.rand(4, 3),)
