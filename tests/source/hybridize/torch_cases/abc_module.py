# function: Impl.forward
# breaks: none
# says: to_graph safe-if

from abc import ABC, abstractmethod

import torch
from torch import nn


class Base(nn.Module, ABC):
    @abstractmethod
    def core(self, x): ...
    def forward(self, x):
        return self.core(x) + 1


class Impl(Base):
    def core(self, x):
        return x.relu()

    def forward(self, x):
        return super().forward(x) * 2


f = Impl()


def args():
    return (torch.randn(2),)
