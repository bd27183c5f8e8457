# breaks: Data dependent operator
# says: keep unsafe STR160

import torch


def f(a, b):
    if torch.equal(a, b):
        return a
    return a - b


def args():
    return torch.randn(3), torch.randn(3)
