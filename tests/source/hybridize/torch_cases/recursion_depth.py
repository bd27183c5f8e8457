# breaks: none
# says: to_graph safe-if

import torch


def fib(x, n):
    if n < 2:
        return x
    return fib(x, n - 1) + fib(x * 2, n - 2)


def f(x):
    return fib(x, 4)


def args():
    return (torch.randn(3),)
