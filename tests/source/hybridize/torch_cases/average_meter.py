# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, v, n=1):
        self.sum += v * n
        self.count += n


m = Meter()


def f(x):
    loss = x.pow(2).mean()
    m.update(loss.item(), x.size(0))
    return loss


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
