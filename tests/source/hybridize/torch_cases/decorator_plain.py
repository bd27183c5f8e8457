# breaks: none
# says: to_graph safe-if

import functools

import torch


def scaled(k):
    def deco(fn):
        @functools.wraps(fn)
        def wrapper(x):
            return fn(x) * k

        return wrapper

    return deco


@scaled(2.0)
def g(x):
    return x.sin()


def f(x):
    return g(x) + 1


def args():
    return (torch.randn(2, 2),)
