# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    a = x.numpy()
    if a.sum() > 0:
        return x + 1
    return x


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
