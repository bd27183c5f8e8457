# breaks: none
# says: to_graph safe-if

from itertools import accumulate

import torch


def f(xs):
    return list(accumulate(xs, lambda a, b: a + b))[-1]


def args():
    return ([torch.randn(2), torch.randn(2)],)
