# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, verbose=False):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.verbose = verbose

    def forward(self, x):
        x = self.fc(x)
        if self.verbose:
            print(x.shape)
        return x


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
