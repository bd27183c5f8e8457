# breaks: none
# says: to_graph safe-if

import torch


def f(batch):
    scaled = {k: v.float() / 255 for k, v in batch.items() if v.dim() > 1}
    return torch.cat([v.flatten() for v in scaled.values()])


def args():
    return ({"a": torch.ones(2, 2), "b": torch.ones(3)},)
