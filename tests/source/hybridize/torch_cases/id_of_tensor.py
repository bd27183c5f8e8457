# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    d = {id(x): 1}
    return x + d[id(x)]


def args():
    return (torch.randn(4),)
