# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

from time import perf_counter

import torch


def f(x):
    start = perf_counter()
    y = x.sin()
    return y * (perf_counter() - start)


def args():
    return (torch.randn(3, 3),)
