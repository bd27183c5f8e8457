# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(x, delta: float = 1.0):
    out = []
    for v in x:
        if v.abs() < delta:
            out.append(0.5 * v * v)
        else:
            out.append(delta * (v.abs() - 0.5 * delta))
    return torch.stack(out).mean()


def args():
    return (torch.randn(3),)
