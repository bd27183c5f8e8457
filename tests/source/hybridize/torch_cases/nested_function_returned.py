# breaks: none
# says: to_graph safe

import torch


def f(x):
    y = x * 2

    def g():
        return y + 1

    return g


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
