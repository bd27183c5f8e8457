# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(logp, old_logp, limit: float = 0.5):
    kl = (old_logp - logp).mean()
    if kl > 1.5 * limit:
        return None
    return (logp - old_logp).exp().mean()


def args():
    return torch.zeros(3), torch.zeros(3)
