# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if type(x) is torch.Tensor:
        return x + 1
    return x


def args():
    return (torch.randn(2, 3),)
