# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if 0 < x.sum() < 10:
        return x + 1
    return x


def args():
    return (torch.rand(3),)
