# function: make.inner
# breaks: none
# says: to_graph safe-if

import torch


def make(scale):
    def inner(x):
        return x * scale + 1

    return inner


f = make(3.0)


def args():
    return (torch.randn(4),)
