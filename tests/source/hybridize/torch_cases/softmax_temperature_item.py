# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(logits, temperature):
    if temperature.item() <= 0:
        return logits.argmax(-1)
    return torch.softmax(logits / temperature, -1)


def args():
    return (torch.randn(2, 5), torch.tensor(0.7))
