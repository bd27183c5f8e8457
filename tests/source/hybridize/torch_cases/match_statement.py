# breaks: none
# says: to_graph safe-if

import torch


def f(x, mode):
    match mode:
        case "a":
            return x + 1
        case ("b", n):
            return x * n
        case _:
            return x


def args():
    return torch.randn(4), ("b", 2)
