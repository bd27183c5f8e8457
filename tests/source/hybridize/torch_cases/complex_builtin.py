# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x * complex(1, 2)


def args():
    return (torch.randn(2),)
