# breaks: Unsupported method call; Attempted to call function marked as skipped
# says: keep unsafe STR174

import io

import torch


def f(x):
    torch.save(x, io.BytesIO())
    return x + 1


def args():
    return (torch.randn(4),)
