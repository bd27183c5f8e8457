# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def act(name):
    return {"relu": F.relu, "tanh": torch.tanh}[name]


def f(x, name: str = "relu"):
    return act(name)(x)


def args():
    return (torch.randn(3),)
