# breaks: Unsupported method call
# says: keep unsafe STR174

import io

import torch


def f(x):
    b = io.StringIO()
    b.write("a")
    return x + len(b.getvalue())


def args():
    return (torch.rand(3),)
