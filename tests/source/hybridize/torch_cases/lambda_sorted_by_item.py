# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(xs):
    return sorted(xs, key=lambda t: t.sum().item())


def args():
    return ([torch.rand(3), torch.rand(3)],)
