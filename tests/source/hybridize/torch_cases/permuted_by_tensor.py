# breaks: Data dependent operator
# says: keep unsafe STR156

import torch


def f(x):
    order = torch.cat((torch.tensor([1, 0]), torch.arange(2, x.ndim)))
    return x.permute(*order).contiguous() + 1


def args():
    return (torch.randn(2, 3, 4),)


if __name__ == "__main__":
    f(*args())
