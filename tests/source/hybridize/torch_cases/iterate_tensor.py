# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    total = 0
    for row in x:
        total = total + row.sum()
    return total


def args():
    return (torch.rand(4, 3),)
