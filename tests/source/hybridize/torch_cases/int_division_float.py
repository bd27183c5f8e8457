# breaks: none
# says: to_graph safe

import torch


def f(x, k):
    h = int(x.shape[0] * 0.5)
    return x[:h] * (k // 2) * round(k / 3, 2)


def args():
    return torch.rand(4), 5


if __name__ == "__main__":
    f(*args())
