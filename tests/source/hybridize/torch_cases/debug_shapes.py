# function: Net.forward
# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        x = self.conv(x)
        print(f"after conv: {x.shape}")
        x = F.relu(x)
        return x.flatten(1)


f = Net()


def args():
    return (torch.randn(1, 3, 8, 8),)


if __name__ == "__main__":
    f(*args())
