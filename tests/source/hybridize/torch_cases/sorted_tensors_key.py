# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return sorted([x, x[:2]], key=lambda t: t.shape[0])[0]


def args():
    return (torch.randn(4),)
