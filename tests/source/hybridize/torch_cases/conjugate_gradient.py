# breaks: none
# says: to_graph safe-if

import torch


def f(A, b, steps=4):
    x = torch.zeros_like(b)
    r = b - A @ x
    p = r.clone()
    rs = r @ r
    for _ in range(steps):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


def args():
    return torch.eye(3) * 2, torch.randn(3)
