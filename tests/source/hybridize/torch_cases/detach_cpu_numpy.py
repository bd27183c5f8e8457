# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    a = x.detach().cpu().numpy()
    return a * 2


def args():
    return (torch.randn(4),)
