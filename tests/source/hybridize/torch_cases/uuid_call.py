# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import uuid

import torch


def f(x):
    u = uuid.uuid4()
    return x + 1


def args():
    return (torch.randn(2),)
