# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import time

import torch


def f(x):
    start = time.time()
    y = x * 2
    return y, time.time() - start


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
