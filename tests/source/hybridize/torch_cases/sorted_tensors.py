# breaks: sort with non-constant keys
# says: keep unsafe STR155

import torch


def f(x):
    return torch.stack(sorted([x.sum(), x.mean()]))


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
