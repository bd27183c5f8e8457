# breaks: none
# says: to_graph safe

import torch


def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
    return y


def args():
    return (torch.rand(4, 4),)


if __name__ == "__main__":
    f(*args())
