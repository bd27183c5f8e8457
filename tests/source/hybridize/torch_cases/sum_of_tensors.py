# breaks: none
# says: to_graph safe

import torch


def f(x):
    return sum([x, x * 2]) + sum(x)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
