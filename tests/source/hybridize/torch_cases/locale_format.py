# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    key = f"{x.shape[0]:03d}-{x.dtype}"
    return x * len(key)


def args():
    return (torch.randn(3),)
