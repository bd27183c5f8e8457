# breaks: none
# says: to_graph safe

import torch


def f(x):
    x.add_(1)
    x[0] = 5
    return x * 2


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
