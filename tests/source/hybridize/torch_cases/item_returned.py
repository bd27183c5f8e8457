# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x):
    return x.sum().item()


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
