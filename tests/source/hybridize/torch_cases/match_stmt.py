# breaks: none
# says: to_graph safe-if

import torch


def f(x, mode="relu"):
    match mode:
        case "relu":
            return x.relu()
        case "tanh":
            return x.tanh()
        case _:
            return x


def args():
    return (torch.randn(3, 2),)
