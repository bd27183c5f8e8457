# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(labels):
    classes, counts = torch.unique(labels, return_counts=True)
    return counts.float() / counts.sum()


def args():
    return (torch.tensor([0, 1, 1]),)
