# breaks: none
# says: to_graph safe

import torch


class A:
    k = 3

    @staticmethod
    def s(x):
        return x * 2

    @classmethod
    def c(cls, x):
        return x * cls.k


def f(x):
    return A.s(x) + A.c(x)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
