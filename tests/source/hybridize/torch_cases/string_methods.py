# breaks: none
# says: to_graph safe

import torch


def f(x, mode):
    if mode.lower().startswith("re") and "lu" in mode and mode.upper().strip() == "RELU":
        return torch.relu(x)
    return x


def args():
    return torch.randn(4), "relu"


if __name__ == "__main__":
    f(*args())
