# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x, k: int = 2, iters: int = 3):
    c = x[:k]
    for _ in range(iters):
        d = torch.cdist(x, c)
        assign = d.argmin(dim=1)
        c = torch.stack([x[assign == j].mean(0) for j in range(k)])
    return c


def args():
    return (torch.randn(6, 2),)


if __name__ == "__main__":
    f(*args())
