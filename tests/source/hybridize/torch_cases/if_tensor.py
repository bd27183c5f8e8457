# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
