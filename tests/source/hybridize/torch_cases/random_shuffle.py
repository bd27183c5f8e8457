# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x):
    order = [0, 1, 2]
    random.shuffle(order)
    return x[order[0]]


def args():
    return (torch.rand(4),)
