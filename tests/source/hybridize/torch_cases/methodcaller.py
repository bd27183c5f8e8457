# breaks: none
# says: to_graph safe-if

import operator

import torch


def f(x):
    return operator.methodcaller("sum")(x)


def args():
    return (torch.rand(3),)
