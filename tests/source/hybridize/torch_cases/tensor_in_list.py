# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if x.sum() in [1.0, 2.0]:
        return x + 1
    return x


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
