# breaks: none
# says: to_graph safe

import torch


def parts(x):
    for i in range(3):
        yield x * i


def f(x):
    total = 0
    for p in parts(x):
        total = total + p
    return total


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
