# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Linear(2, 2)


def f(x):
    with torch.inference_mode():
        return m(x)


def args():
    return (torch.randn(2),)
