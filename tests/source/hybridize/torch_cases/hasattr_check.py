# breaks: none
# says: to_graph safe-if

import torch


def f(x, cfg=None):
    if hasattr(cfg, "scale"):
        return x * cfg.scale
    return x + 1


def args():
    return (torch.randn(2, 3),)
