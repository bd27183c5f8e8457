# breaks: none
# says: to_graph safe-if

import re

import torch


def f(x, name):
    if re.match("a+", name):
        return x + 1
    return x


def args():
    return torch.randn(4), "aa"
