# function: make.step
# breaks: none
# says: keep safe-if STR170

import torch


def make():
    n = 0

    def step(x):
        nonlocal n
        n += 1
        return x + n

    return step


f = make()


def args():
    return (torch.randn(2),)
