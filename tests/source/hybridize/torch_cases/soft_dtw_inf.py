# breaks: none
# says: to_graph safe-if

import torch


def f(D):
    n, m = D.shape
    R = torch.full((n + 1, m + 1), float("inf"))
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            R[i, j] = D[i - 1, j - 1] + torch.min(torch.min(R[i - 1, j], R[i, j - 1]), R[i - 1, j - 1])
    return R[n, m]


def args():
    return (torch.rand(2, 3),)
