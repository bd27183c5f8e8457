# breaks: none
# says: to_graph safe-if

import torch


def f(logits, y):
    return (logits.argmax(1) == y).float().mean()


def args():
    return (torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))
