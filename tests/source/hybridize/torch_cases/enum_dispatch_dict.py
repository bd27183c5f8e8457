# breaks: none
# says: to_graph safe-if

import enum

import torch


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


TABLE = {Act.RELU: torch.relu, Act.TANH: torch.tanh}


def f(x, act=Act.TANH):
    return TABLE[act](x)


def args():
    return (torch.randn(3),)
