# breaks: none
# says: to_graph safe

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


def f(x):
    return g(x) + 1


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
