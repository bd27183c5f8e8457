# breaks: none
# says: to_graph safe

import sys

import torch


def f(x):
    if sys.version_info >= (3, 8) and sys.platform != "win32":
        return x + 1
    return x


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
