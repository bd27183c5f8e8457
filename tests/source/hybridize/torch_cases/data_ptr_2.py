# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    p = x.data_ptr()
    return x + 1, p


def args():
    return (torch.randn(3, 2),)
