# breaks: none
# says: to_graph safe-if

import torch


def f(a, b):
    n, m = a.shape[0], b.shape[0]
    d = [[None] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        d[i][0] = torch.tensor(float(i))
    for j in range(m + 1):
        d[0][j] = torch.tensor(float(j))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]).abs()
            d[i][j] = torch.min(torch.stack([d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost]))
    return d[n][m]


def args():
    return torch.randn(2), torch.randn(3)
