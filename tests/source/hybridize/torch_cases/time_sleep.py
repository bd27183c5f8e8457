# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import time

import torch


def f(x):
    time.sleep(0)
    return x + 1


def args():
    return (torch.rand(3),)
