# breaks: Attempted to wrap sparse Tensor with VariableTracker; Attempted to wrap sparse Tensor
# says: keep unsafe STR159

import torch


def f(x):
    s = x.to_sparse()
    return torch.sparse.mm(s, x)


def args():
    return (torch.randn(3, 3),)


if __name__ == "__main__":
    f(*args())
