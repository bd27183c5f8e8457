# breaks: Failed to trace builtin operator
# says: keep unsafe STR166 STR174

import os
import tempfile

import torch

LOG = os.path.join(tempfile.gettempdir(), "strop_case_log.txt")


def f(x):
    with open(LOG, "a") as fh:
        fh.write("called\n")
    return x + 1


def args():
    return (torch.randn(2, 3),)
