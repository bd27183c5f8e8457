# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x.sum() / len(x)


def args():
    return (torch.rand(4),)
