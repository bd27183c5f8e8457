# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if not x.any():
        return x
    return x + 1


def args():
    return (torch.randn(4),)
