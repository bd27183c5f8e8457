# breaks: none
# says: keep safe-if STR170

import torch

history = []


def f(x):
    y = x * 2
    history.append(y)
    return y


def args():
    return (torch.rand(4),)
