# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    x = x.to(memory_format=torch.channels_last)
    return x.contiguous(memory_format=torch.contiguous_format) * 2


def args():
    return (torch.randn(1, 2, 3, 3),)
