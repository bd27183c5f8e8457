# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.ones(2, device=device) + x.to(device)


def args():
    return (torch.rand(2),)
