# breaks: Data dependent operator
# says: keep unsafe STR160

import torch


def f(a, b):
    return torch.allclose(a, b)


def args():
    return torch.randn(3), torch.randn(3)
