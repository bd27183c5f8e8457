# breaks: none
# says: to_graph safe-if

import contextlib

import torch


@contextlib.contextmanager
def scaled():
    yield 2


def f(x):
    with scaled() as s:
        return x * s


def args():
    return (torch.rand(4),)
