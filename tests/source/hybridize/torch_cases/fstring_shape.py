# breaks: none
# says: to_graph safe

import torch


def f(x):
    name = f"{x.shape[0]}-{x.dim()}"
    return x * len(name)


def args():
    return (torch.randn(4, 6),)


if __name__ == "__main__":
    f(*args())
