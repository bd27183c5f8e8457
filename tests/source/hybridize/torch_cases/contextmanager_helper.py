# breaks: none
# says: to_graph safe-if

from contextlib import contextmanager

import torch


@contextmanager
def scaled(s):
    yield s * 2


def f(x):
    with scaled(3) as k:
        return x * k


def args():
    return (torch.randn(4),)
