# breaks: none
# says: to_graph safe-if

import torch


def parts(x):
    for i in range(3):
        yield x * i


def f(x):
    return parts(x)


def args():
    return (torch.rand(4),)
