# breaks: none
# says: to_graph safe

import torch


class Options:
    scale = 2


def f(x, o):
    o.scale = 5
    o.last = x
    return x * 2


def args():
    return torch.rand(4), Options()


if __name__ == "__main__":
    f(*args())
