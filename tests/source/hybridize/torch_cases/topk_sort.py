# breaks: none
# says: to_graph safe

import torch


def f(x):
    v, i = x.topk(2)
    s, j = torch.sort(x)
    m = x.max(dim=0)
    return v + s[:2] + m.values + m.indices + x.kthvalue(1)[0] + x.median()


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
