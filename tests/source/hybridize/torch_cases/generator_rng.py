# breaks: An opaque object was created in the middle of the program.; torch.Generator method; Failed to convert args/kwargs to proxy
# says: keep unsafe STR162

import torch


def f(x):
    g = torch.Generator()
    g.manual_seed(0)
    return x + torch.randn(3, generator=g)


def args():
    return (torch.randn(3),)
