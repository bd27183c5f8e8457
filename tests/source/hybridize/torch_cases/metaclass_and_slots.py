# breaks: none
# says: to_graph safe

import torch


class P:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


def f(x):
    return P(x).a + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
