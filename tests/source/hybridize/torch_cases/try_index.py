# breaks: none
# says: to_graph safe-if STR158

import torch


def f(x, idx: int):
    try:
        return x[idx]
    except IndexError:
        print("out of range")
        return x[0]


def args():
    return torch.randn(3), 1


if __name__ == "__main__":
    f(*args())
