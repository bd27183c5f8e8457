# breaks: none
# says: to_graph safe

import torch


def f(x, debug: bool = False):
    y = x.exp()
    if debug:
        print("max", y.max())
    return y


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
