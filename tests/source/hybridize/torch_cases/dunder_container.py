# breaks: none
# says: to_graph safe-if

import torch


class Bag:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __iter__(self):
        return iter(self.items)


def f(x):
    b = Bag([x, x * 2, x * 3])
    return sum(t for t in b) / len(b) + b[0]


def args():
    return (torch.randn(3),)
