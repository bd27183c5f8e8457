# breaks: none
# says: to_graph safe-if STR156

import math

import torch


def scaled(x, step, shift):
    return x + shift * math.sqrt(step**2 - 1.0)


def f(x):
    options = {"step": 2.0, "shift": 0.5, "weight": x}
    given = {name: options[name] for name in ("step", "shift")}
    return scaled(x + options["weight"], **given)


def args():
    return (torch.randn(6),)
