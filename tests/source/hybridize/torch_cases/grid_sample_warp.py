# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F


def f(img, flow):
    b, _, h, w = img.shape
    ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    grid = torch.stack((xs, ys), -1).float()[None] + flow.permute(0, 2, 3, 1)
    grid = 2 * grid / torch.tensor([w - 1, h - 1]) - 1
    return F.grid_sample(img, grid, align_corners=True)


def args():
    return torch.randn(1, 1, 4, 4), torch.zeros(1, 2, 4, 4)
