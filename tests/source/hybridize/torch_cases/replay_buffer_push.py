# function: Replay.push
# breaks: none
# says: unknown safe-if STR154 STR170

from collections import deque
import random
import torch


class Replay:
    def __init__(self, cap=10):
        self.memory = deque([], maxlen=cap)

    def push(self, s, a):
        self.memory.append((s, a))
        return s + 1

    def sample(self, n):
        return random.sample(self.memory, n)


r = Replay()
f = r.push


def args():
    return torch.randn(2), torch.tensor(1)
