# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def args():
    return torch.rand(2, 20), torch.rand(2, 20), torch.randn(2, 4), torch.randn(2, 4)
