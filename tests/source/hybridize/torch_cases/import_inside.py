# breaks: none
# says: to_graph safe

import torch


def f(x):
    import math

    from torch.nn import functional as G

    return G.relu(x) * math.pi


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
