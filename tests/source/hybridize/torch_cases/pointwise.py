# breaks: none
# says: to_graph safe

import torch


def f(x, y):
    return torch.relu(x) * 2 + y.sigmoid()


def args():
    return torch.randn(4), torch.randn(4)


if __name__ == "__main__":
    f(*args())
