# breaks: Failed to mutate tensor data attribute
# says: keep unsafe STR177

import torch


def f(x):
    y = x.clone()
    y.data = x * 2
    return y


def args():
    return (torch.randn(4),)
