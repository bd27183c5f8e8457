# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: to_graph safe-if

import torch


def f(x, idx):
    i = int(idx)
    return x[i]


def args():
    return torch.randn(4), torch.tensor(2)
