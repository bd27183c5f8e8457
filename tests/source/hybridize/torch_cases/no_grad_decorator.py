# breaks: none
# says: to_graph safe-if

import torch


@torch.no_grad()
def f(x):
    return x * 2


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
