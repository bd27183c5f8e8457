# function: Siamese.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.margin = 1.0

    def once(self, x):
        return F.normalize(self.enc(x), dim=1)

    def forward(self, a, b, same):
        d = torch.pairwise_distance(self.once(a), self.once(b))
        pos = same * d.pow(2)
        neg = (1 - same) * F.relu(self.margin - d).pow(2)
        return (pos + neg).mean()


f = Siamese()


def args():
    return torch.randn(2, 4), torch.randn(2, 4), torch.tensor([0.0, 1.0])
