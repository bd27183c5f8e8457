# breaks: none
# says: no_benefit safe STR153

import torch


def f(x):
    d = locals()
    return d["x"] + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
