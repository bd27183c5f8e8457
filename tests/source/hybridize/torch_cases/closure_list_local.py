# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    hidden = []

    def keep(t):
        hidden.append(t)
        return t

    y = keep(x * 2)
    z = keep(y + 1)
    return torch.stack(hidden).sum(0) + z


def args():
    return (torch.randn(3),)
