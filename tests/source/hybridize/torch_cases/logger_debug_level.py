# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158

import logging
import torch

logger = logging.getLogger("m")


def f(x):
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("x=%s", x)
    return x + 1


def args():
    return (torch.randn(3),)
