# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch
import torch.nn as nn

net = nn.Linear(3, 2)


def f(state, eps: float):
    if random.random() < eps:
        return torch.randint(0, 2, (1,))
    return net(state).argmax(-1, keepdim=True)


def args():
    return torch.randn(3), 0.5


if __name__ == "__main__":
    f(*args())
