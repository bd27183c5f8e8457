# breaks: none
# says: to_graph safe-if

import os

import torch


def f(x):
    home = os.environ["PATH"]
    return x + len(home)


def args():
    return (torch.randn(3, 3),)
