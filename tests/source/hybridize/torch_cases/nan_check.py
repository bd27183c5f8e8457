# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def check(t, name):
    if torch.isnan(t).any():
        raise RuntimeError(f"nan in {name}")
    return t


def f(x):
    x = check(x, "x")
    return x * 2


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
