# breaks: none
# says: to_graph safe-if

import math
import torch


def f(x):
    side = int(math.sqrt(x.shape[1]))
    return x.view(x.shape[0], side, side)


def args():
    return (torch.randn(2, 9),)
