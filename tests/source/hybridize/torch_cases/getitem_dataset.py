# breaks: none
# says: to_graph safe-if

import torch


class Data:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        return self.x[i] * 2

    def __len__(self):
        return len(self.x)


def f(x):
    d = Data(x)
    return torch.stack([d[i] for i in range(len(d))])


def args():
    return (torch.randn(3, 2),)
