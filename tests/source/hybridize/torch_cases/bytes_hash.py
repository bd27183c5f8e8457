# breaks: Attempted to call function marked as skipped; Unsupported method call
# says: keep unsafe STR159

import hashlib

import torch


def f(x, name="a"):
    seed = int(hashlib.md5(name.encode()).hexdigest(), 16) % 7
    return x + seed


def args():
    return (torch.randn(3),)
