# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.histc(x, 4).sum() + x.quantile(0.5) + torch.cumsum(x, 0)[0] + x.std() + x.var()


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
