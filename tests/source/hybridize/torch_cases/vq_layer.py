# function: VQ.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class VQ(nn.Module):
    def __init__(self, n=8, d=4):
        super().__init__()
        self.codebook = nn.Embedding(n, d)

    def forward(self, z):
        d = torch.cdist(z, self.codebook.weight)
        idx = d.argmin(-1)
        q = self.codebook(idx)
        loss = F.mse_loss(q.detach(), z) + 0.25 * F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        return q, loss, idx


f = VQ()


def args():
    return (torch.randn(5, 4),)
