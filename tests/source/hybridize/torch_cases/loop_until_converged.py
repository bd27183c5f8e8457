# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x):
    for i in range(10):
        y = x * 0.5
        if (y - x).abs().max() < 1e-3:
            break
        x = y
    return x


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
