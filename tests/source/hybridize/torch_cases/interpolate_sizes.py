# breaks: none
# says: to_graph safe

import torch
import torch.nn.functional as F


def f(x, size=None):
    if size is None:
        size = [s * 2 for s in x.shape[-2:]]
    x = F.interpolate(x, size=size, mode="bilinear", align_corners=False)
    h, w = x.shape[-2:]
    assert h % 2 == 0 and w % 2 == 0
    return x


def args():
    return (torch.randn(1, 1, 4, 4),)


if __name__ == "__main__":
    f(*args())
