# breaks: none
# says: to_graph safe

import torch


def f(x):
    g = lambda y: y * 2
    return g(x)


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
