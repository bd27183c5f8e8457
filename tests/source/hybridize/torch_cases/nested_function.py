# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    def g(y):
        return y * 2 + x

    return g(x)


def args():
    return (torch.rand(4),)
