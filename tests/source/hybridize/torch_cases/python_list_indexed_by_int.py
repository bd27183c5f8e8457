# breaks: none
# says: to_graph safe

import torch


def f(x, i):
    return [x, x + 1, x + 2][i]


def args():
    return torch.randn(4), 2


if __name__ == "__main__":
    f(*args())
