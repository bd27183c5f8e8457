# breaks: none
# says: to_graph safe-if

import torch


def f(q, k):
    assert q.shape[-1] == k.shape[-1], f"mismatch {q.shape} {k.shape}"
    return q @ k.mT


def args():
    return torch.randn(2, 4), torch.randn(3, 4)
