# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(a, b):
    x = torch.zeros_like(b)
    r = b - a @ x
    k = 0
    while r.norm() > 1e-3 and k < 10:
        x = x + 0.1 * r
        r = b - a @ x
        k += 1
    return x


def args():
    return (torch.eye(3), torch.randn(3))
