# breaks: Unsupported context manager
# says: keep unsafe STR166

import threading

import torch

lock = threading.Lock()


def f(x):
    with lock:
        return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
