# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    scores = [x.mean(), x.median()]
    best = max(scores)
    return best * 2


def args():
    return (torch.randn(5),)
