# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if len(x) > 3:
        return x[:3]
    return x


def args():
    return (torch.randn(4),)
