# breaks: none
# says: to_graph safe

import torch

cache = {}


def f(x):
    cache[x] = 1
    return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
