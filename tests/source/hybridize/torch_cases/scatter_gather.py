# breaks: none
# says: to_graph safe

import torch


def f(x, i):
    return x.gather(0, i) + x.scatter(0, i, x) + x.index_select(0, i) + x.scatter_add(0, i, x) + torch.take(x, i)


def args():
    return torch.randn(3), torch.tensor([0, 1, 2])


if __name__ == "__main__":
    f(*args())
