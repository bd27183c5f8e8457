# breaks: none
# says: to_graph safe

import torch
import torch.nn.functional as F


def f(x):
    y = torch.einsum("ij,jk->ik", x, x)
    return F.pad(torch.cat([y, x], dim=0), (1, 1)).chunk(2)[0].split(1)[0]


def args():
    return (torch.randn(3, 3),)


if __name__ == "__main__":
    f(*args())
