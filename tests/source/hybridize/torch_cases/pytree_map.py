# breaks: none
# says: no_benefit safe STR153

import torch
from torch.utils._pytree import tree_map


def f(d):
    return tree_map(lambda t: t * 2, d)


def args():
    return ({"a": torch.randn(2), "b": [torch.randn(3)]},)
