# breaks: Unsupported method call
# says: keep unsafe STR174

import sys

import torch


def f(x):
    sys.stdout.write("hi")
    return x + 1


def args():
    return (torch.randn(4),)
