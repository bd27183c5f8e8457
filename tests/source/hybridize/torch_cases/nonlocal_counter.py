# function: make.g
# breaks: none
# says: keep safe-if STR170

import torch


def make():
    n = 0

    def g(x):
        nonlocal n
        n += 1
        return x * 2

    return g


f = make()


def args():
    return (torch.rand(4),)
