# breaks: none
# says: to_graph safe-if

import torch


def f(pi, sigma, mu):
    categorical = torch.distributions.Categorical(pi)
    pis = categorical.sample().unsqueeze(1)
    out = torch.normal(mean=mu, std=sigma)
    return out.gather(1, pis)


def args():
    return torch.rand(3, 4), torch.rand(3, 4), torch.randn(3, 4)
