# breaks: repr() on tensor
# says: keep unsafe STR165

import torch


def f(x):
    name = repr(x)
    return x * len(name)


def args():
    return (torch.randn(4, 6),)


if __name__ == "__main__":
    f(*args())
