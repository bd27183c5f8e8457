# breaks: none
# says: to_graph safe-if

import torch


def f(x, n=2):
    rows = []
    for i in range(n):
        cols = [x[..., i::n, j::n] for j in range(n)]
        rows.append(torch.cat(cols, dim=-1))
    return torch.cat(rows, dim=-2)


def args():
    return (torch.randn(1, 1, 4, 4),)
