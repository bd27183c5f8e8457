# function: Meter.update
# breaks: none
# says: unknown safe-if STR154

import torch


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, v, k=1):
        self.total += v * k
        self.n += k
        return self.total / self.n


meter = Meter()
f = meter.update


def args():
    return (torch.tensor(2.0),)
