# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    with torch.no_grad():
        y = x * 2
    return y


def args():
    return (torch.rand(4),)
