# breaks: none
# says: keep safe-if STR170

import math

import torch

step = 0


def f(x):
    global step
    step += 1
    lr = 0.5 * (1 + math.cos(math.pi * step / 100))
    return x * lr


def args():
    return (torch.randn(3),)
