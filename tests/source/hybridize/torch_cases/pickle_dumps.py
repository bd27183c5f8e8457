# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import pickle

import torch


def f(x):
    b = pickle.dumps([1, 2])
    return x + len(b)


def args():
    return (torch.randn(2),)
