# breaks: none
# says: to_graph safe

from collections import Counter, deque

import torch


def f(x):
    q = deque([1, 2], maxlen=3)
    q.append(3)
    c = Counter([1, 1, 2])
    return x * q.popleft() * c[1]


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
