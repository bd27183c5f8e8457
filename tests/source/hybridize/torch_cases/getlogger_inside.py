# breaks: Unresolved GetAttrVariable comparison
# says: keep unsafe STR158

import logging

import torch


def f(x):
    log = logging.getLogger("a")
    return x + 1


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
