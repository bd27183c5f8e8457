# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(pred, target, n: int):
    idx = target * n + pred
    return torch.bincount(idx, minlength=n * n).reshape(n, n)


def args():
    return torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), 2


if __name__ == "__main__":
    f(*args())
