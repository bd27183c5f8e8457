# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    return x * 2 if x.max() > 0.5 else x


def args():
    return (torch.rand(4),)
