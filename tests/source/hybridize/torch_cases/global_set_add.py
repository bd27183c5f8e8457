# breaks: none
# says: keep safe-if STR170

import torch

seen = set()


def f(x):
    seen.add(x.shape[0])
    return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
