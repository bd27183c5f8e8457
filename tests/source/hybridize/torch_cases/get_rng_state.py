# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import torch


def f(x):
    s = torch.get_rng_state()
    y = x + torch.rand(4)
    torch.set_rng_state(s)
    return y


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
