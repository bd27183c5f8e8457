# breaks: Dynamic shape operator (not with fullgraph=True)
# says: to_graph safe-if

import torch


def f(x, reps):
    return x.repeat_interleave(reps, dim=0)


def args():
    return torch.randn(2, 3), torch.tensor([1, 2])
