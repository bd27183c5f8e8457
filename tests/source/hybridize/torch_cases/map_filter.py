# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return sum(map(lambda i: x * i, filter(lambda i: i > 1, range(4))))


def args():
    return (torch.randn(4),)
