# breaks: none
# says: to_graph safe-if

import torch


class Range:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def f(x):
    r = Range(3)
    for i in r:
        x = x + i
    return x / len(r)


def args():
    return (torch.randn(3),)
