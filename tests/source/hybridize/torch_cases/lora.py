# function: LoRA.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(r, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
        self.enabled = True

    def forward(self, x):
        out = self.base(x)
        if self.enabled:
            out = out + x @ self.a.T @ self.b.T
        return out


f = LoRA(nn.Linear(4, 4))


def args():
    return (torch.randn(2, 4),)
