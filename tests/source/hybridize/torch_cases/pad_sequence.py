# breaks: none
# says: to_graph safe

import torch
from torch.nn.utils.rnn import pad_sequence


def f(x, y):
    return pad_sequence([x, y], batch_first=True)


def args():
    return torch.rand(3), torch.rand(2)


if __name__ == "__main__":
    f(*args())
