# function: VAE.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.dec = nn.Linear(2, 4)

    def encode(self, x):
        h = self.enc(x)
        return h.chunk(2, dim=-1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar


f = VAE()


def args():
    return (torch.randn(2, 4),)
