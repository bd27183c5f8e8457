# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR166

import contextlib

import torch


def f(x):
    with contextlib.ExitStack() as s:
        s.enter_context(torch.no_grad())
        return x * 2


def args():
    return (torch.rand(3),)
