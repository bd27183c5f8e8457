# breaks: none
# says: to_graph safe

import torch


def f(x, mask=None):
    if mask is not None:
        x = x * mask
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
