# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(scores, threshold: float = 0.1):
    keep = scores > threshold
    if keep.sum() == 0:
        return torch.zeros_like(scores)
    return scores.masked_fill(~keep, 0.0)


def args():
    return (torch.rand(3, 3),)


if __name__ == "__main__":
    f(*args())
