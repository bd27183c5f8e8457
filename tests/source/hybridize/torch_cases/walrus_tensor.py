# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if (s := x.sum()) > 0:
        return x / s
    return x


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
