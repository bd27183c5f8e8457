# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(logits, labels):
    pred = logits.argmax(dim=1)
    correct = (pred == labels).sum().item()
    return correct / labels.size(0)


def args():
    return torch.randn(4, 3), torch.randint(0, 3, (4,))
