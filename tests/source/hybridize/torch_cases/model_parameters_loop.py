# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

model = nn.Linear(4, 3)


def f(x):
    reg = 0
    for p in model.parameters():
        reg = reg + p.pow(2).sum()
    for n, p in model.named_parameters():
        if "weight" in n:
            reg = reg + p.abs().sum()
    return model(x).sum() + reg


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
