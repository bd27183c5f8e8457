# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if any([x.sum() > 0, x.mean() > 0]):
        return x + 1
    return x


def args():
    return (torch.randn(2),)
