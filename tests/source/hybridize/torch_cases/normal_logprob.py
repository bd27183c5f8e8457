# breaks: none
# says: to_graph safe-if

import torch
from torch.distributions import Normal


def f(mu, log_std, a):
    dist = Normal(mu, log_std.exp())
    return dist.log_prob(a).sum(-1), dist.entropy().mean()


def args():
    return torch.zeros(3), torch.zeros(3), torch.randn(3)
