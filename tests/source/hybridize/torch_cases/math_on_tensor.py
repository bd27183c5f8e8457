# breaks: Data dependent operator
# says: keep unsafe STR156

import math

import torch


def f(x):
    return x * math.exp(x.sum())


def args():
    return (torch.randn(4),)
