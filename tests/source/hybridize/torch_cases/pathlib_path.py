# breaks: none
# says: to_graph safe

from pathlib import Path

import torch


def f(x):
    p = Path("a") / "b"
    return x + len(p.name)


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
