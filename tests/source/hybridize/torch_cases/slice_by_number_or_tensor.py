# breaks: none
# says: to_graph safe-if STR156

import torch


def window(x, size, start):
    return x[start : start + size] * 2


def f(x):
    sizes = {"size": 2, "start": 1, "weight": x}
    given = {name: sizes[name] for name in ("size", "start")}
    return window(x + sizes["weight"], **given)


def args():
    return (torch.randn(6),)
