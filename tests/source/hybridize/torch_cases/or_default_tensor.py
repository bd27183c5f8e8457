# breaks: none
# says: to_graph safe

import torch


def f(x, y=None):
    y = y or x
    return x + y


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
