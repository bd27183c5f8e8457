# breaks: none
# says: to_graph safe

import torch

REG = {}


def register(name):
    def deco(fn):
        REG[name] = fn
        return fn

    return deco


@register("l2")
def l2(a, b):
    return (a - b).pow(2).mean()


@register("l1")
def l1(a, b):
    return (a - b).abs().mean()


def f(a, b, kind="l1"):
    return REG[kind](a, b)


def args():
    return torch.randn(2), torch.randn(2)
