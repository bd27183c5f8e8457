# breaks: none
# says: to_graph safe-if

import torch
from torch.nn.utils.rnn import pad_sequence


def f(xs):
    return pad_sequence(xs, batch_first=True).sum(1)


def args():
    return ([torch.randn(2), torch.randn(3)],)
