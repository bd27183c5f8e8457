# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    while x.sum() < 10:
        x = x + 1
    return x


def args():
    return (torch.zeros(4),)
