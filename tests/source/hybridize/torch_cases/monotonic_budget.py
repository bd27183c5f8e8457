# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import time

import torch


def f(x):
    end = time.monotonic() + 5
    for _ in range(3):
        if time.monotonic() > end:
            break
        x = x * 2
    return x


def args():
    return (torch.randn(3),)
