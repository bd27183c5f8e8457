# function: MLP.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

REGISTRY = {}


def register(name):
    def deco(cls):
        REGISTRY[name] = cls
        return cls

    return deco


@register("mlp")
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x).relu()


f = REGISTRY["mlp"]()


def args():
    return (torch.randn(2, 3),)


if __name__ == "__main__":
    f(*args())
