# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import os

import torch


def f(x):
    d = os.getcwd()
    return x + len(os.path.basename(d)) * 0


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
