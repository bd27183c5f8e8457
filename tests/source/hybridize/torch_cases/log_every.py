# breaks: Failed to trace builtin operator
# says: to_graph safe-if STR158

import torch


def f(x, step):
    y = x.mean()
    if step % 10 == 0:
        print(f"step {step}: {y:.3f}")
    return y


def args():
    return torch.randn(3), 10
