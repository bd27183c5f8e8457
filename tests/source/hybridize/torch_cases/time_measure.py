# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import time

import torch


def f(x):
    t0 = time.time()
    y = x @ x
    dt = time.time() - t0
    return y, dt


def args():
    return (torch.randn(3, 3),)
