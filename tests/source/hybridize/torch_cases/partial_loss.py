# breaks: none
# says: to_graph safe

import functools

import torch
import torch.nn.functional as F

loss = functools.partial(F.cross_entropy, label_smoothing=0.1)


def f(x, y):
    return loss(x, y)


def args():
    return torch.randn(2, 3), torch.tensor([0, 1])


if __name__ == "__main__":
    f(*args())
