# breaks: none
# says: to_graph safe-if

import json

import torch

CFG = json.loads('{"scale": 2}')


def f(x):
    return x * CFG["scale"]


def args():
    return (torch.randn(3),)
