# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    try:
        y = x + 1
    finally:
        z = x * 2
    return y + z


def args():
    return (torch.rand(4),)
