# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch


def f(x):
    return x * random.choice([1, 2, 3])


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
