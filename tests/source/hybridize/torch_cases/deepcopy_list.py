# breaks: none
# says: to_graph safe-if

import copy

import torch


def f(x):
    opts = copy.deepcopy([1, 2])
    return x * opts[0]


def args():
    return (torch.rand(4),)
