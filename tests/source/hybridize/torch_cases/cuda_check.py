# breaks: none
# says: to_graph safe-if

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def f(x):
    z = torch.zeros(3, device=device)
    return x.to(device) + z


def args():
    return (torch.randn(3),)
