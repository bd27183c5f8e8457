# breaks: none
# says: to_graph safe-if

import math

import torch


def bucket(n, base=2):
    return base ** math.ceil(math.log(n, base))


def f(x):
    pad = bucket(x.shape[-1]) - x.shape[-1]
    return torch.nn.functional.pad(x, (0, pad))


def args():
    return (torch.randn(2, 5),)
