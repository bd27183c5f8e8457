# breaks: none
# says: to_graph safe

import torch


def f(x):
    if any(d > 3 for d in x.shape) or all([True, x.ndim > 0]):
        return x + 1
    return x


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
