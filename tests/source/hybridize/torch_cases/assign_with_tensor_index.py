# breaks: none
# says: to_graph safe

import torch


def f(x, i):
    y = x.clone()
    y[i] = 0
    y[0] = x.sum()
    return y


def args():
    return torch.rand(3), torch.tensor(1)


if __name__ == "__main__":
    f(*args())
