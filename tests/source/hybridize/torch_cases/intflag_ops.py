# breaks: none
# says: to_graph safe-if

import enum

import torch


class Opt(enum.IntFlag):
    A = 1
    B = 2


OPTS = Opt.A | Opt.B


def f(x):
    if OPTS & Opt.B:
        x = x * 2
    return x


def args():
    return (torch.randn(3),)
