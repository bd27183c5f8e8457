# breaks: none
# says: to_graph safe

import torch


def f(x):
    assert (x >= 0).all()
    return x.sqrt()


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
