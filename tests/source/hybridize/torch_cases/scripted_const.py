# breaks: none
# says: to_graph safe-if

import torch
from typing import Final


class K:
    N: Final = 3


def f(x):
    return x.repeat(K.N)


def args():
    return (torch.randn(3),)
