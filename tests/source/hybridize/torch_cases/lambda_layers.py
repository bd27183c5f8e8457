# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn
import torch.nn.functional as F

ACTS = {"relu": F.relu, "gelu": F.gelu}


class Net(nn.Module):
    def __init__(self, act="gelu"):
        super().__init__()
        self.act = ACTS[act]
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.act(self.fc(x))


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
