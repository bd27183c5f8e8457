# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if not x.is_contiguous():
        x = x.contiguous()
    return x.view(-1)


def args():
    return (torch.randn(3, 2),)
