# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(xs):
    if any((x < 0).any() for x in xs):
        return xs[0].abs()
    return xs[0]


def args():
    return ([torch.randn(2), torch.randn(2)],)
