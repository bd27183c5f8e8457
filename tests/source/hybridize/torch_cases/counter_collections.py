# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import collections

import torch


def f(x, names):
    counts = collections.Counter(names)
    return x * counts["a"] + counts.most_common(1)[0][1]


def args():
    return (torch.randn(2), ["a", "b", "a"])
