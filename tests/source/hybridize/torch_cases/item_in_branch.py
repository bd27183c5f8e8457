# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(x):
    if x.sum().item() > 0:
        return x
    return -x


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
