# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.l1 = nn.Linear(4, hidden)
        self.l2 = nn.Linear(hidden, 2)
        self.hidden = hidden

    def forward(self, x):
        h = torch.tanh(self.l1(x))
        if self.hidden > 8:
            h = F.dropout(h, 0.5, self.training)
        return F.log_softmax(self.l2(h), dim=1)


f = Net(16)


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
