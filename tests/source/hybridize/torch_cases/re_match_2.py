# breaks: none
# says: to_graph safe-if

import re

import torch


def f(x, name="layer3"):
    n = int(re.search(r"\d+", name).group())
    return x * n


def args():
    return (torch.randn(2, 3),)
