# breaks: none
# says: to_graph safe-if

import torch


class Acc:
    def __init__(self, x):
        self.x = x

    def double(self):
        return self.x * 2


def f(x):
    return Acc(x).double()


def args():
    return (torch.randn(4),)
