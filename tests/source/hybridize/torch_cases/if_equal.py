# breaks: Data dependent operator
# says: keep unsafe STR160

import torch


def f(x, y):
    if torch.equal(x, y):
        return x
    return x + y


def args():
    return torch.randn(4), torch.randn(4)


if __name__ == "__main__":
    f(*args())
