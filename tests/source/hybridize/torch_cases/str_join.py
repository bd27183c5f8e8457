# breaks: none
# says: no_benefit safe STR153

import torch


def f(x, names=("a", "b")):
    key = "-".join(names).upper()
    return {key: x}


def args():
    return (torch.randn(2),)
