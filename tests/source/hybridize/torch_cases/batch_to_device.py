# breaks: none
# says: to_graph safe-if

import torch


def to_device(batch, device):
    if isinstance(batch, torch.Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {k: to_device(v, device) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device) for v in batch)
    return batch


def f(batch):
    b = to_device(batch, "cpu")
    return b["x"] + b["y"][0]


def args():
    return ({"x": torch.randn(2), "y": [torch.randn(2)]},)
