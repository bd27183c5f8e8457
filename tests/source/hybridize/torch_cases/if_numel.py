# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.numel() == 0:
        return x
    return x / x.numel()


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
