# breaks: none
# says: to_graph safe

import torch


def f(x):
    p = x.data_ptr()
    return x + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
