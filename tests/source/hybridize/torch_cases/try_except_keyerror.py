# breaks: none
# says: no_benefit safe STR153

import torch


def f(x):
    d = {"a": x}
    try:
        return d["b"]
    except KeyError:
        return d["a"] + 1


def args():
    return (torch.rand(4),)
