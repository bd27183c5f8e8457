# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x == None:
        return torch.zeros(1)
    return x + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
