# breaks: none
# says: to_graph safe-if

import torch


def f(logp, old_logp, adv, values, returns, clip=0.2, vf_coef: float = 0.5):
    ratio = (logp - old_logp).exp()
    s1 = ratio * adv
    s2 = torch.clamp(ratio, 1 - clip, 1 + clip) * adv
    pi = -torch.min(s1, s2).mean()
    v = (values - returns).pow(2).mean()
    return pi + vf_coef * v


def args():
    return tuple(torch.randn(4) for _ in range(5))
