# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158

import logging

import torch

logger = logging.getLogger(__name__)


def f(x):
    logger.info("forward %s", x.shape)
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
