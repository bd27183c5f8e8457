# breaks: none
# says: to_graph safe-if

import operator

import torch


def f(x):
    return operator.add(x, operator.itemgetter(0)([1, 2])) * operator.mul(2, 3) + operator.attrgetter("shape")(x)[0]


def args():
    return (torch.rand(3),)
