# breaks: Attempted to call function marked as skipped; setattr() on unsupported type
# says: keep unsafe STR162

import functools
import time

import torch


def timer(fn):
    @functools.wraps(fn)
    def wrapper(*a, **k):
        t = time.time()
        r = fn(*a, **k)
        wrapper.elapsed = time.time() - t
        return r

    return wrapper


@timer
def f(x):
    return x @ x


def args():
    return (torch.randn(2, 2),)
