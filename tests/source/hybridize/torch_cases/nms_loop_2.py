# breaks: none
# says: to_graph safe-if

import torch


def f(boxes, scores):
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        order = order[1:]
    return torch.stack(keep)


def args():
    return torch.rand(3, 4), torch.rand(3)
