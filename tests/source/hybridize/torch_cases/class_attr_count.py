# function: Net.forward
# breaks: setattr() on unsupported type
# says: keep unsafe STR170 STR178

import torch
import torch.nn as nn


class Net(nn.Module):
    instances = 0

    def forward(self, x):
        Net.instances += 1
        return x + 1


f = Net()


def args():
    return (torch.randn(2),)
