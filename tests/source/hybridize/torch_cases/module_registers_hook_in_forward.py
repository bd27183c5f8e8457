# function: Net.forward
# breaks: setattr() on unsupported type
# says: keep unsafe STR163

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.fc.register_forward_hook(lambda m, i, o: o * 2)
        return self.fc(x)


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
