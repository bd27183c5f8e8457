# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x, k):
    if k > 1 and x.sum() > 0:
        return x
    return x + 1


def args():
    return torch.randn(4), 3
