# breaks: Attempted to call function marked as skipped; setattr() on unsupported type
# says: keep unsafe STR162

import functools
import time

import torch


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*a, **k):
        t = time.perf_counter()
        out = fn(*a, **k)
        wrapper.elapsed = time.perf_counter() - t
        return out

    return wrapper


@timed
def g(x):
    return x.relu()


def f(x):
    return g(x) + 1


def args():
    return (torch.randn(3),)
