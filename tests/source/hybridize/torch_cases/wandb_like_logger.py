# breaks: none
# says: keep safe-if STR170

import torch


class Logger:
    def __init__(self):
        self.rows = []

    def log(self, **kw):
        self.rows.append(kw)


logger = Logger()


def f(x):
    loss = x.square().mean()
    logger.log(loss=loss, step=1)
    return loss


def args():
    return (torch.randn(3),)
