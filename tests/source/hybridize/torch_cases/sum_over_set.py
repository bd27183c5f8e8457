# breaks: none
# says: to_graph safe-if

import torch


def f(x, keep={0, 2}):
    return sum(x[i] for i in keep)


def args():
    return (torch.randn(3),)
