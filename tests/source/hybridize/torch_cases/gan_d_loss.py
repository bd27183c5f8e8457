# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F

G = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
D = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


def f(real, z):
    fake = G(z).detach()
    loss_real = F.binary_cross_entropy_with_logits(D(real), torch.ones(real.size(0), 1))
    loss_fake = F.binary_cross_entropy_with_logits(D(fake), torch.zeros(real.size(0), 1))
    return loss_real + loss_fake


def args():
    return torch.randn(3, 4), torch.randn(3, 8)
