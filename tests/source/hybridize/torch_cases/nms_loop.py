# breaks: Data-dependent branching
# says: keep unsafe STR157

import torch


def f(boxes, scores):
    keep = []
    order = scores.argsort(descending=True)
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        iou = (boxes[order[1:]] - boxes[i]).abs().sum(-1)
        order = order[1:][iou > 0.5]
    return torch.stack(keep)


def args():
    return torch.rand(4, 4), torch.rand(4)
