# breaks: none
# says: to_graph safe-if

import contextlib

import torch


@contextlib.contextmanager
def scaled(box, by):
    box["by"] = by
    try:
        yield box
    finally:
        box["by"] = 1.0


def f(x):
    box = {"by": 1.0}
    with scaled(box, 2.0) as b:
        y = x * b["by"]
    return y + box["by"]


def args():
    return (torch.randn(3),)
