# breaks: none
# says: to_graph safe-if

import torch


def f(x, idx, v):
    return x.index_put((idx,), v, accumulate=True)


def args():
    return torch.zeros(4), torch.tensor([1, 1]), torch.ones(2)
