# breaks: none
# says: to_graph safe-if

import sys
import torch


def f(x):
    if sys.platform == "linux" and sys.version_info >= (3, 8):
        return x + 1
    return x


def args():
    return (torch.randn(3),)
