# function: Child.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return self.l(x)


class Child(Base):
    def forward(self, x):
        return super().forward(x).tanh() + x


f = Child()


def args():
    return (torch.randn(2, 3),)
