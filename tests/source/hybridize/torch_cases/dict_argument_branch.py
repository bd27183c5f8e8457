# breaks: none
# says: to_graph safe-if

import torch


def f(batch):
    if "mask" in batch:
        return batch["x"] * batch["mask"]
    return batch["x"]


def args():
    return ({"x": torch.rand(3)},)
