# function: Net.forward
# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158 STR170

import logging

import torch
import torch.nn as nn

log = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        out = self.fc(x)
        if self.step % 1 == 0:
            log.warning("step %d", self.step)
        return out


f = Net()


def args():
    return (torch.randn(2, 4),)
