# breaks: none
# says: to_graph safe

import torch


def f(x):
    s = format(3.14159, ".2f")
    return x + len(s)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
