# breaks: Unsupported method call
# says: keep unsafe STR159

import torch
from scipy.special import expit


def f(x):
    return torch.as_tensor(expit(x.detach().numpy()))


def args():
    return (torch.randn(3),)
