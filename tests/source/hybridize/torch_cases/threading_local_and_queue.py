# breaks: Attempted to call function marked as skipped; Unsupported context manager
# says: keep unsafe STR159

import queue

import torch


def f(x):
    q = queue.Queue()
    q.put(1)
    return x + q.get()


def args():
    return (torch.rand(3),)
