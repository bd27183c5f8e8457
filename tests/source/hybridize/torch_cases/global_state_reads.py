# breaks: none
# says: to_graph safe-if

import torch

scale = 2.5
table = {"a": 3}


def f(x):
    return x * scale + table["a"]


def args():
    return (torch.randn(4),)
