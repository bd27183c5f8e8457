# breaks: none
# says: unknown safe-if STR154 STR170

from collections import deque

import torch

buffer = deque(maxlen=100)


def f(s, a):
    buffer.append((s, a))
    return s + a


def args():
    return torch.randn(3), torch.randn(3)
