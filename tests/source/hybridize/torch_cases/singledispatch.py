# breaks: missing tp_iter
# says: no_benefit unsafe STR159

import functools

import torch


@functools.singledispatch
def g(v, x):
    return x


@g.register
def _(v: int, x):
    return x * v


def f(x):
    return g(2, x)


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
