# breaks: none
# says: to_graph safe-if

from functools import partial

import torch
import torch.nn.functional as F

act = partial(F.leaky_relu, negative_slope=0.1)


def f(x):
    return act(x) + 1


def args():
    return (torch.randn(3),)
