# function: ACT.forward
# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch
import torch.nn as nn


class ACT(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.halt = nn.Linear(4, 1)

    def forward(self, x):
        total = torch.zeros(x.size(0))
        steps = 0
        while (total < 0.99).any() and steps < 5:
            x = torch.tanh(self.cell(x))
            total = total + torch.sigmoid(self.halt(x)).squeeze(-1)
            steps += 1
        return x


f = ACT()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
