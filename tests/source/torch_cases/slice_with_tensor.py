# breaks: none
# says: to_graph safe

import torch


def f(x, n):
    return x[:n]


def args():
    return torch.randn(4), torch.tensor(2)


if __name__ == "__main__":
    f(*args())
