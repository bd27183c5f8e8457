# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x):
    return x * random.random()


def args():
    return (torch.rand(4),)
