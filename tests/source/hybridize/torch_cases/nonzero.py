# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    return torch.nonzero(x)


def args():
    return (torch.tensor([0.0, 1.0]),)


if __name__ == "__main__":
    f(*args())
