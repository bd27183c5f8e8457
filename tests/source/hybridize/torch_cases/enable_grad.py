# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    with torch.enable_grad():
        y = x * 2
    with torch.set_grad_enabled(False):
        z = y + 1
    return z


def args():
    return (torch.randn(2),)
