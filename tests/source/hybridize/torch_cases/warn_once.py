# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR158

import warnings

import torch

_warned = False


def f(x):
    global _warned
    if not _warned:
        warnings.warn("experimental")
        _warned = True
    return x * 2


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
