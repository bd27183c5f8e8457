# breaks: none
# says: to_graph safe

import numpy as np
import torch


def f(pred, target):
    p = pred.detach().cpu().numpy()
    t = target.detach().cpu().numpy()
    return np.mean((p - t) ** 2)


def args():
    return torch.randn(3), torch.randn(3)


if __name__ == "__main__":
    f(*args())
