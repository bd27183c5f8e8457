# breaks: none
# says: to_graph safe

import torch


def f(x):
    i = 0
    while i < 3:
        x = x + i
        i += 1
    return x


def args():
    return (torch.zeros(4),)


if __name__ == "__main__":
    f(*args())
