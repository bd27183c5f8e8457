# breaks: none
# says: to_graph safe-if

import torch

SCALES = [0.5, 1.0, 2.0]


def f(x):
    return torch.stack([x * s for s in SCALES])


def args():
    return (torch.randn(3),)
