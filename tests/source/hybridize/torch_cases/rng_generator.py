# breaks: An opaque object was created in the middle of the program.; Failed to convert args/kwargs to proxy
# says: keep unsafe STR162

import torch


def f(x):
    g = torch.Generator()
    return x + torch.rand(4, generator=g)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
