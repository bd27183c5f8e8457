# function: Base.forward
# breaks: none
# says: to_graph safe-if

import abc

import torch
from torch import nn


class Base(nn.Module, abc.ABC):
    def forward(self, x):
        return self.head(self.body(x))

    @abc.abstractmethod
    def body(self, x): ...
    @abc.abstractmethod
    def head(self, x): ...


class Net(Base):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def body(self, x):
        return self.l(x)

    def head(self, x):
        return x.relu().sum()


f = Net()


def args():
    return (torch.randn(2, 3),)
