# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x.clone()
    y.add_(1).mul_(2)
    y[0] = 0
    y[:, 1] += 3
    return y


def args():
    return (torch.randn(2, 4),)
