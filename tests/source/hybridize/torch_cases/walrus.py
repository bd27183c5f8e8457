# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if (n := x.shape[0]) > 2:
        return x * n
    return x


def args():
    return (torch.rand(3),)
