# breaks: Unsupported Tensor.backward() call
# says: keep unsafe STR161

import torch

w = torch.randn(3, requires_grad=True)


def f(x, lr: float = 0.1):
    loss = (w * x).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(lr * w.grad)
        w.grad.zero_()
    return loss


def args():
    return (torch.randn(3),)
