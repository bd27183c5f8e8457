# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    s = ",".join(["a", "b"]).split(",")
    return x + len(s) + len("ab".replace("a", "c"))


def args():
    return (torch.randn(2),)
