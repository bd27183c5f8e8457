# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import copy

import torch


def f(xs):
    ys = copy.copy(xs)
    ys.append(torch.ones(2))
    return torch.stack(ys)


def args():
    return ([torch.randn(2)],)
