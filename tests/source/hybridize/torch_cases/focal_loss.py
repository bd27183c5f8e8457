# breaks: none
# says: to_graph safe

import torch
import torch.nn.functional as F


def f(inputs, targets, alpha=0.25, gamma=2.0):
    bce = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    pt = torch.exp(-bce)
    return (alpha * (1 - pt) ** gamma * bce).mean()


def args():
    return torch.randn(4), torch.rand(4)


if __name__ == "__main__":
    f(*args())
