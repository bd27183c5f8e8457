# breaks: none
# says: to_graph safe

import torch


def f(x):
    a, b = x
    return a + b


def args():
    return (torch.rand(2, 3),)


if __name__ == "__main__":
    f(*args())
