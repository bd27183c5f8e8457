# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.tensor([x.sum(), x.mean()])


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
