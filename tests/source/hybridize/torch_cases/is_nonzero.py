# breaks: Data dependent operator
# says: keep unsafe STR160

import torch


def f(x):
    if torch.is_nonzero(x.sum()):
        return x + 1
    return x


def args():
    return (torch.rand(3),)
