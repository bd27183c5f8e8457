# breaks: Call to `torch._dynamo.graph_break()`
# says: keep unsafe STR169

import torch


def f(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def args():
    return (torch.randn(4),)
