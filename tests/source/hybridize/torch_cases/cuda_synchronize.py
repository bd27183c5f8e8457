# breaks: none
# says: to_graph safe

import torch


def f(x):
    y = x + 1
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return y


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
