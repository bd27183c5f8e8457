# breaks: none
# says: to_graph safe-if

import torch


def f(x, lengths):
    idx = (lengths - 1).view(-1, 1, 1).expand(-1, 1, x.size(2))
    return x.gather(1, idx).squeeze(1)


def args():
    return torch.randn(2, 4, 3), torch.tensor([2, 4])
