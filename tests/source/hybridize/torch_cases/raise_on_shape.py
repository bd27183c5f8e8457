# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.shape[0] != 4:
        raise ValueError(f"expected 4, got {x.shape[0]}")
    return x + 1


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
