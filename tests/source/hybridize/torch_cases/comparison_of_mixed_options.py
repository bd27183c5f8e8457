# breaks: none
# says: to_graph safe-if STR155

import torch


def scale(x, kind, other):
    if kind == "a" and other == "b":
        return x * 2
    return x


def f(x):
    options = {"kind": "a", "other": "b", "weight": x}
    given = {name: options[name] for name in ("kind", "other")}
    return scale(x + options["weight"], **given)


def args():
    return (torch.randn(4),)
