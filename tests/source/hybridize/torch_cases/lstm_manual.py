# function: Cell.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Cell(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.ih = nn.Linear(n, 4 * n)
        self.hh = nn.Linear(n, 4 * n)

    def forward(self, x, state):
        h, c = state
        i, fg, g, o = (self.ih(x) + self.hh(h)).chunk(4, 1)
        c = fg.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, (h, c)


f = Cell(4)


def args():
    return torch.randn(2, 4), (torch.zeros(2, 4), torch.zeros(2, 4))


if __name__ == "__main__":
    f(*args())
