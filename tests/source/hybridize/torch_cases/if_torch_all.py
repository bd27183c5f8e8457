# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    if torch.all(x > 0):
        return x.log()
    return x


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
