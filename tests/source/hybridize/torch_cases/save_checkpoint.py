# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import os
import tempfile

import torch
from torch import nn

PATH = os.path.join(tempfile.gettempdir(), "strop_case.pt")
m = nn.Linear(2, 2)


def f(x):
    y = m(x)
    torch.save(m.state_dict(), PATH)
    return y


def args():
    return (torch.randn(2),)
