# breaks: none
# says: to_graph safe-if

import torch


class Schedule:
    def __init__(self, start=1.0, rate=0.9):
        self.t = start
        self.rate = rate

    def step(self):
        self.t *= self.rate
        return self.t


sched = Schedule()


def f(logits):
    return (logits / sched.step()).softmax(-1)


def args():
    return (torch.randn(4),)
