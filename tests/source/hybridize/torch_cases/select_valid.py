# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(loss, mask):
    valid = loss[mask.bool()]
    return valid.mean()


def args():
    return torch.rand(4), torch.tensor([1, 0, 1, 1])


if __name__ == "__main__":
    f(*args())
