# breaks: Unsupported method call
# says: keep unsafe STR162

import datetime

import torch


def f(x):
    stamp = datetime.datetime.now()
    return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
