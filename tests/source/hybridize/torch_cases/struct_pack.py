# breaks: none
# says: to_graph safe-if

import struct

import torch


def f(x):
    n = struct.unpack("<I", struct.pack("<I", 5))[0]
    return x * n


def args():
    return (torch.randn(2),)
