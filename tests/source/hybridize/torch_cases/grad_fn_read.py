# breaks: Tensor with grad_fn()
# says: keep unsafe STR161

import torch


def f(x):
    y = x * 2
    if y.grad_fn is not None:
        return y + 1
    return y


def args():
    return (torch.rand(3, requires_grad=True),)
