# breaks: Observed exception
# says: keep unsafe STR165

import torch


def f(x):
    s = "{}".format(x.sum())
    return x * len(s)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
