# breaks: none
# says: no_benefit safe-if STR153

import torch


def f(x):
    return sum(reversed(x))


def args():
    return (torch.randn(2),)
