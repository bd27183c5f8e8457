# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(A: torch.Tensor, n_iter: int = 5, tol: float = 1e-6):
    v = torch.ones(A.size(0))
    for i in range(n_iter):
        w = A @ v
        w = w / w.norm()
        if torch.norm(w - v) < tol:
            break
        v = w
    return v


def args():
    return (torch.randn(4, 4),)
