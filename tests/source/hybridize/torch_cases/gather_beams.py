# breaks: none
# says: to_graph safe-if

import torch


def f(scores, beams):
    k = scores.shape[-1]
    top, idx = scores.flatten(1).topk(beams.shape[1], dim=1)
    parent = torch.div(idx, k, rounding_mode="floor")
    return beams.gather(1, parent), top


def args():
    return (torch.randn(2, 3, 5), torch.arange(6).view(2, 3))
