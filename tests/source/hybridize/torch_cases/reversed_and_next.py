# breaks: none
# says: to_graph safe

import torch


def f(x):
    for i in reversed(range(3)):
        x = x + i
    it = iter([x, x + 1])
    return next(it) + next(it) + next(it, x)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
