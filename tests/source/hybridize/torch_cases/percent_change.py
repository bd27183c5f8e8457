# breaks: none
# says: to_graph safe-if

import torch


def f(a, b):
    diff = ((a - b).abs() / b.abs().clamp_min(1e-8)).mean()
    return f"{100 * diff:.1f}%"


def args():
    return torch.randn(3), torch.randn(3)
