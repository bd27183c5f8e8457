# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x, mask):
    if mask.sum() == 0:
        return x.new_zeros(())
    return (x * mask).sum() / mask.sum()


def args():
    return torch.rand(4), torch.ones(4)


if __name__ == "__main__":
    f(*args())
