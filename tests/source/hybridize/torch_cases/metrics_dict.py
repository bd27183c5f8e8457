# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(pred, y):
    acc = (pred.argmax(-1) == y).float().mean()
    return {"acc": acc.item(), "n": len(y)}


def args():
    return torch.randn(3, 2), torch.tensor([0, 1, 1])
