# breaks: none
# says: keep safe-if STR170

import torch

calls = 0


def f(x):
    global calls
    calls += 1
    return x * 2


def args():
    return (torch.randn(2),)
