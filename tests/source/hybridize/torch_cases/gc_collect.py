# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import gc

import torch


def f(x):
    gc.collect()
    return x + 1


def args():
    return (torch.randn(2),)
