# breaks: none
# says: to_graph safe

import torch


def g(*xs, **kw):
    return sum(xs) * kw["k"]


def f(*xs):
    return g(*xs, **{"k": 2})


def args():
    return torch.randn(4), torch.randn(4)


if __name__ == "__main__":
    f(*args())
