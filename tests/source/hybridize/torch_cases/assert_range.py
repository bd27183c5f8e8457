# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    assert x.min() >= 0 and x.max() <= 1, "expected [0, 1]"
    return x * 2 - 1


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
