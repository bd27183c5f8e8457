# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if type(x) is torch.Tensor and callable(f) and issubclass(int, object):
        return x + 1
    return x


def args():
    return (torch.randn(4),)
