# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.histc(x, bins=4, min=0, max=1)


def args():
    return (torch.rand(8),)
