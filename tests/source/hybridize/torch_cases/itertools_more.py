# breaks: none
# says: to_graph safe

import itertools

import torch


def f(x):
    for i in itertools.islice(itertools.count(), 3):
        x = x + i
    for a, b in itertools.combinations([1, 2, 3], 2):
        x = x + a * b
    for a, b in itertools.zip_longest([1], [2, 3], fillvalue=0):
        x = x + a
    for v in itertools.accumulate([1, 2]):
        x = x + v
    return x


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
