# breaks: Tensor.retain_grad() with AOTDispatcher
# says: keep unsafe STR177

import torch


def f(x):
    y = x * 2
    y.retain_grad()
    return y


def args():
    return (torch.rand(3, requires_grad=True),)
