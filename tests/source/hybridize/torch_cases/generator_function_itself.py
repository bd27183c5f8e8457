# breaks: Attempt to trace generator
# says: keep unsafe STR164

import torch


def f(x):
    for i in range(3):
        yield x * i


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
