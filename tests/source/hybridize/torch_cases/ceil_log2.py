# breaks: none
# says: to_graph safe-if

import math
import torch


def f(x):
    n = x.size(-1)
    steps = math.ceil(math.log2(n))
    s = 1
    for _ in range(steps):
        x = x + x.roll(s, -1)
        s *= 2
    return x


def args():
    return (torch.randn(8),)
