# breaks: none
# says: to_graph safe

import torch


def f(x):
    if x.is_contiguous() and not x.is_cuda and not x.is_sparse:
        return x.contiguous()
    return x + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
