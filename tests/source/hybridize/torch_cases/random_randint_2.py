# breaks: Data dependent operator
# says: keep unsafe STR162

import random

import torch


def f(x):
    i = random.randint(0, 2)
    return x.roll(i)


def args():
    return (torch.randn(3),)
