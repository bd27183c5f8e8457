# breaks: none
# says: to_graph safe

import torch


def f(x, return_dict: bool = False):
    y = x * 2
    if return_dict:
        return {"y": y}
    return (y,)


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
