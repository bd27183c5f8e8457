# breaks: none
# says: to_graph safe

import torch


def f(n: int, x):
    m = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            m[i, j] = x[i] * x[j]
    return m


def args():
    return 3, torch.randn(3)


if __name__ == "__main__":
    f(*args())
