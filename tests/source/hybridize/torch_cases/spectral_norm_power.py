# function: SN.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class SN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.register_buffer("u", torch.randn(4))

    def forward(self, x):
        with torch.no_grad():
            v = F.normalize(self.w.t() @ self.u, dim=0)
            u = F.normalize(self.w @ v, dim=0)
            self.u.copy_(u)
        sigma = u @ self.w @ v
        return x @ (self.w / sigma)


f = SN()


def args():
    return (torch.randn(2, 4),)
