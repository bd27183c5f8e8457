# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

model = nn.Linear(4, 3)


def f(x):
    model.zero_grad()
    return model(x)


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
