# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158

import logging

import torch

log = logging.getLogger(__name__)


def f(x):
    y = x.relu()
    log.info("shape %s", y.shape)
    return y + 1


def args():
    return (torch.randn(4),)
