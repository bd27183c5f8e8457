# breaks: none
# says: to_graph safe

import torch


def f(x, delta: float = 1.0):
    a = x.abs()
    return torch.where(a < delta, 0.5 * x * x, delta * (a - 0.5 * delta)).mean()


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
