# breaks: none
# says: to_graph safe

import torch


def f(x):
    order = [1, 0, *range(2, x.ndim)]
    y = x.permute(*order).contiguous() + 1
    return y.flip(0).transpose(0, 1).exp() * y.permute(1, 0, 2).sin() + y.permute(1, 0, 2).cos()


def args():
    return (torch.randn(2, 3, 4),)


if __name__ == "__main__":
    f(*args())
