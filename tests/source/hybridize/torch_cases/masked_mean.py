# breaks: none
# says: to_graph safe

import torch


def f(x, mask):
    m = mask.unsqueeze(-1).float()
    return (x * m).sum(1) / m.sum(1).clamp(min=1e-6)


def args():
    return torch.randn(2, 3, 4), torch.ones(2, 3)


if __name__ == "__main__":
    f(*args())
