# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import torch


def f(x):
    s = torch.get_rng_state()
    y = torch.rand_like(x)
    torch.set_rng_state(s)
    return y


def args():
    return (torch.randn(2),)
