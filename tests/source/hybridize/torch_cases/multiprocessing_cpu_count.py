# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import os

import torch


def f(x):
    return x * os.cpu_count()


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
