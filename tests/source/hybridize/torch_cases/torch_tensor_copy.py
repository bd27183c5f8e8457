# breaks: none
# says: to_graph safe

import torch


def f(x):
    return torch.tensor(x) + 1


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
