# breaks: Attempted to call function marked as skipped; Failed to trace builtin operator
# says: keep unsafe STR158 STR162

import time

import torch


def f(x):
    start = time.perf_counter()
    y = x * 2
    print(time.perf_counter() - start)
    return y


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
