# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x, tol: float = 1e-3, iters: int = 5):
    for _ in range(iters):
        new = x - 0.1 * (2 * x)
        if torch.norm(new - x) < tol:
            return new
        x = new
    return x


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
