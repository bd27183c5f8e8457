# breaks: none
# says: to_graph safe

import torch


def validate(x):
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"expected a tensor, got {type(x)}")
    if x.dim() != 2:
        raise ValueError(f"expected 2 dimensions, got {x.dim()}: {x}")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(x.dtype)
    return x


def f(x):
    return validate(x).sum(0)


def args():
    return (torch.randn(3, 2),)


if __name__ == "__main__":
    f(*args())
