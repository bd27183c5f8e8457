# breaks: none
# says: no_benefit safe-if STR153

import torch


def f(x):
    msg = f"shape: {tuple(x.shape)}"
    return x, msg


def args():
    return (torch.randn(3),)
