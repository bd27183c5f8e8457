# breaks: none
# says: to_graph safe-if

from collections import OrderedDict

import torch


def f(x):
    o = OrderedDict()
    o["a"] = x
    o["b"] = x * 2
    return [v.sum() for v in o.values()]


def args():
    return (torch.randn(2),)
