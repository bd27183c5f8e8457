# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(scores):
    best, best_i = None, -1
    for i, s in enumerate(scores):
        if best is None or s > best:
            best, best_i = s, i
    return best_i


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
