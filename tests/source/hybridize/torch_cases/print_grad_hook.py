# breaks: none
# says: to_graph safe

import torch


def f(x):
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda g: print(g.shape))
    return y.sum()


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
