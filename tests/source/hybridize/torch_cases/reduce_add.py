# breaks: none
# says: no_benefit safe-if STR153

import operator
from functools import reduce

import torch


def f(xs):
    return reduce(operator.add, xs)


def args():
    return ([torch.randn(3), torch.randn(3)],)
