# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    torch._assert_async(x.sum() > -1e9)
    return x + 1


def args():
    return (torch.randn(2),)
