# function: make.g
# breaks: none
# says: to_graph safe-if

import torch


def make(scale):
    def g(x):
        return x * scale

    return g


f = make(3)


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
