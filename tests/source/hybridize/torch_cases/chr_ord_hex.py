# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x + ord("a") + len(chr(98)) + len(hex(12)) + len(bin(3))


def args():
    return (torch.randn(2),)
