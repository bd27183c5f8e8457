# breaks: Not captured as one graph
# says: keep unsafe STR166

import threading

import torch

lock = threading.Lock()


def f(x):
    with lock:
        return x + 1


def args():
    return (torch.randn(2),)
