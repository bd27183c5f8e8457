# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return sum(x * i for i in range(3))


def args():
    return (torch.rand(4),)
