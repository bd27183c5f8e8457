# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x):
    if random.random() < 0.5:
        return x.flip(0)
    return x


def args():
    return (torch.randn(3),)
