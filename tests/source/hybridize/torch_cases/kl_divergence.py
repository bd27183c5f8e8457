# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import torch
from torch.distributions import Normal, kl_divergence


def f(m, s):
    return kl_divergence(Normal(m, s), Normal(torch.zeros_like(m), torch.ones_like(s))).sum()


def args():
    return torch.zeros(3), torch.ones(3)
