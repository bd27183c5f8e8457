# breaks: none
# says: to_graph safe-if

import torch


class TooSmall(Exception):
    pass


def check(x):
    if x.shape[0] < 2:
        raise TooSmall(x.shape[0])
    return x


def f(x):
    try:
        return check(x) * 2
    except TooSmall:
        return x


def args():
    return (torch.randn(1),)
