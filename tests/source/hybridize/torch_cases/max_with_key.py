# breaks: invalid call to builtin op handler
# says: keep unsafe STR159

import torch


def f(x):
    return max([x, x[:1]], key=lambda t: t.shape[0])


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
