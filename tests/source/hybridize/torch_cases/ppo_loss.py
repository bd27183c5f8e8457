# breaks: none
# says: to_graph safe

import torch


def f(logp, old_logp, adv, clip: float = 0.2):
    ratio = (logp - old_logp).exp()
    surr = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    kl = (old_logp - logp).mean()
    return -surr.mean(), kl


def args():
    return torch.randn(3), torch.randn(3), torch.randn(3)


if __name__ == "__main__":
    f(*args())
