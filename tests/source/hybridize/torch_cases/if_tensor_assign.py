# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if x.mean() > 0:
        y = x * 2
    else:
        y = x * 3
    return y + 1


def args():
    return (torch.randn(4),)
