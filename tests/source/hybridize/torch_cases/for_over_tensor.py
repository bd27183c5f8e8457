# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    s = 0
    for row in x:
        s = s + row.norm()
    return s


def args():
    return (torch.randn(3, 4),)
