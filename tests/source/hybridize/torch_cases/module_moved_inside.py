# function: Features.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4)

    def forward(self, x):
        self.scale.to(x.device)
        return torch.tanh(self.scale(x)) * x.exp() + x.sigmoid()


f = Features()


def args():
    return (torch.ones(2, 4),)


if __name__ == "__main__":
    for _ in range(3):
        f(*args())
