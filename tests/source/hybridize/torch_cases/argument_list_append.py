# breaks: none
# says: keep safe-if STR170

import torch


def f(x, out):
    out.append(x * 2)
    return x + 1


def args():
    return torch.rand(4), []


if __name__ == "__main__":
    f(*args())
