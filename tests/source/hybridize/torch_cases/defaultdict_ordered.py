# breaks: none
# says: to_graph safe

from collections import OrderedDict, defaultdict

import torch


def f(x):
    d = defaultdict(list)
    d["a"].append(x)
    o = OrderedDict()
    o["b"] = x * 2
    return d["a"][0] + o["b"]


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
