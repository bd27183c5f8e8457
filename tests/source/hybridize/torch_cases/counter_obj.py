# breaks: none
# says: to_graph safe-if

from collections import Counter

import torch


def f(x):
    c = Counter([1, 2, 2])
    return x * c[2]


def args():
    return (torch.randn(2),)
