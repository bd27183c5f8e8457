# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(x):
    b = bool(x.sum() > 0)
    return x * 2 if b else x


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
