# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(x):
    return torch.where(x > 0)[0]


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
