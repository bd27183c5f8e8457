# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    try:
        y = x * 2
    finally:
        z = x + 1
    return y + z


def args():
    return (torch.randn(3),)
