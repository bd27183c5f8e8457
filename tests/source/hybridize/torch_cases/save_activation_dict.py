# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

acts = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        acts["fc"] = y.detach()
        return y


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
