# function: ACT.forward
# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch
import torch.nn as nn


class ACT(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.halt = nn.Linear(4, 1)

    def forward(self, x):
        p = torch.zeros(x.size(0))
        n = 0
        while bool((p < 0.99).any()) and n < 3:
            x = torch.tanh(self.cell(x))
            p = p + torch.sigmoid(self.halt(x)).squeeze(-1)
            n += 1
        return x


f = ACT()


def args():
    return (torch.randn(2, 4),)
