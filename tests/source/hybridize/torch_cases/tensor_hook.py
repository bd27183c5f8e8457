# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    x.register_hook(lambda g: g.clamp(-1, 1))
    return (x * 3).sum()


def args():
    return (torch.randn(4, requires_grad=True),)
