# breaks: none
# says: keep safe STR152

import functools

import torch


def deco(fn):
    @functools.wraps(fn)
    def inner(*a, **k):
        return fn(*a, **k) * 2

    return inner


@deco
def f(x):
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
