# breaks: Unsupported arguments for itertools.groupby
# says: keep unsafe STR159

import statistics

import torch


def f(x):
    return x * statistics.mean([1, 2, 3])


def args():
    return (torch.rand(3),)
