# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    with torch.profiler.record_function("step"):
        return x * 2


def args():
    return (torch.randn(2),)
