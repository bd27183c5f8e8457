# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.is_leaf:
        return x + 1
    return x


def args():
    return (torch.rand(3, requires_grad=True),)


if __name__ == "__main__":
    f(*args())
