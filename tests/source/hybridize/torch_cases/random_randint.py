# breaks: none
# says: to_graph safe-if

import random

import torch


def f(x):
    return x * random.randint(1, 3)


def args():
    return (torch.rand(4),)
