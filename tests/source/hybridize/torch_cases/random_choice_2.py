# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x):
    k = random.choice([1, 2, 3])
    return x * k


def args():
    return (torch.randn(3),)
