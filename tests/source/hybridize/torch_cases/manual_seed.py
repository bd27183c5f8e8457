# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import torch


def f(x):
    torch.manual_seed(0)
    return x + torch.rand(4)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
