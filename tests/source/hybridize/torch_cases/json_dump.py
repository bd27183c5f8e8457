# breaks: Unsupported method call
# says: keep unsafe STR174

import json

import torch


def f(x):
    s = json.dumps({"n": x.shape[0]})
    return x * len(s)


def args():
    return (torch.randn(2, 3),)
