# breaks: none
# says: to_graph safe

import torch


def f(x):
    y = x.clone()
    y[y < 0] = 0
    return y


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
