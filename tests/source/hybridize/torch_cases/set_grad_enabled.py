# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y


def args():
    return (torch.randn(4),)
