# breaks: Failed to trace builtin operator
# says: keep unsafe STR166 STR174

import torch


def f(x):
    with open("/dev/null") as h:
        h.read()
    return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
