# breaks: Not captured as one graph
# says: keep unsafe STR157

import torch


def f(x, k: int = 2, iters: int = 3):
    c = x[:k].clone()
    for _ in range(iters):
        d = torch.cdist(x, c)
        a = d.argmin(1)
        for j in range(k):
            pts = x[a == j]
            if len(pts) > 0:
                c[j] = pts.mean(0)
    return c, a


def args():
    return (torch.randn(6, 2),)
