# breaks: none
# says: to_graph safe-if

import torch


def f(scores, visited):
    scores = scores.masked_fill(visited.bool(), -1e9)
    idx = scores.argmax(dim=-1)
    visited = visited.scatter(1, idx.unsqueeze(1), 1)
    return idx, visited


def args():
    return torch.randn(2, 4), torch.zeros(2, 4)
