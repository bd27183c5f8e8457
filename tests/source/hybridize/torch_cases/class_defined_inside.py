# breaks: Invalid call to __build_class__
# says: keep unsafe STR178

import torch


def f(x):
    class Local:
        k = 2

    return x * Local.k


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
