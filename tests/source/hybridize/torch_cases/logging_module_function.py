# breaks: Unsupported python_type() call
# says: keep unsafe STR158

import logging

import torch


def f(x):
    logging.debug("forward")
    return x + 1


def args():
    return (torch.randn(4),)
