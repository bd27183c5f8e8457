# breaks: none
# says: to_graph safe-if

import torch

LOSSES = {}


def register(name):
    def add(fn):
        LOSSES[name] = fn
        return fn

    return add


@register("l1")
def l1(a, b):
    return (a - b).abs().mean()


@register("l2")
def l2(a, b):
    return ((a - b) ** 2).mean()


def f(a, b):
    return LOSSES["l1"](a, b) + 0.5 * LOSSES["l2"](a, b)


def args():
    return (torch.randn(3), torch.randn(3))
