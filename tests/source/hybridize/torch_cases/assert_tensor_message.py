# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    assert x.min() >= 0, "negative"
    return x.sqrt()


def args():
    return (torch.rand(4),)
