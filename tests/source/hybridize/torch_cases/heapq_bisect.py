# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR159

import bisect
import heapq

import torch


def f(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    i = bisect.bisect_left([1, 2, 3], 2)
    return x + heapq.heappop(h) + i


def args():
    return (torch.rand(3),)
