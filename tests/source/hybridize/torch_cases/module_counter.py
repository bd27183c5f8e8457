# function: Net.forward
# breaks: none
# says: keep safe-if STR170

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.fc(x)


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
