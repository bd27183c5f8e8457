# breaks: none
# says: to_graph safe-if

import torch


class A:
    def __init__(self, v):
        self.v = v

    def go(self, x):
        return x * self.v


class B(A):
    def __init__(self, v):
        super().__init__(v)

    @property
    def twice(self):
        return self.v * 2

    def go(self, x):
        return super().go(x) + self.twice


b = B(3)


def f(x):
    return b.go(x)


def args():
    return (torch.randn(4),)
