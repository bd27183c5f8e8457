# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x.unsqueeze(0) if x.ndim == 1 else x
    return y.softmax(-1)


def args():
    return (torch.randn(3),)
