# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import inspect

import torch


def f(x):
    name = inspect.currentframe().f_code.co_name
    return x * len(name)


def args():
    return (torch.randn(2),)
