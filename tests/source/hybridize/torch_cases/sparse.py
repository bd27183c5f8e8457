# breaks: Attempted to wrap sparse Tensor with VariableTracker
# says: keep unsafe STR159

import torch


def f(x):
    return x.to_sparse().to_dense()


def args():
    return (torch.eye(3),)
