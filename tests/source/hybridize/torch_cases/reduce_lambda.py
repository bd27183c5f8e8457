# breaks: none
# says: no_benefit safe-if STR153

import functools
import operator

import torch


def f(xs):
    return functools.reduce(operator.matmul, xs)


def args():
    return ([torch.eye(2), torch.ones(2, 2), torch.eye(2)],)
