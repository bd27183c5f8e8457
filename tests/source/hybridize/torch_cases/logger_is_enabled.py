# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158

import logging

import torch

log = logging.getLogger("a")


def f(x):
    if log.isEnabledFor(logging.DEBUG):
        log.debug("x %s", x)
    return x + 1


def args():
    return (torch.rand(3),)
