# breaks: Unsupported Tensor.requires_grad_() call
# says: keep unsafe STR177

import torch


def f(x):
    x.requires_grad_(True)
    return x * 2


def args():
    return (torch.randn(4),)
