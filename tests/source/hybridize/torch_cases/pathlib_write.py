# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR174

import pathlib
import tempfile

import torch


def f(x):
    pathlib.Path(tempfile.gettempdir(), "strop_case_shape.txt").write_text(str(tuple(x.shape)))
    return x * 2


def args():
    return (torch.randn(2),)
