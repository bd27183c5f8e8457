# breaks: Attempted to call function marked as skipped; Unsupported method call
# says: keep unsafe STR159

import hashlib

import torch


def f(x):
    h = hashlib.md5(b"a").hexdigest()
    return x + len(h)


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
