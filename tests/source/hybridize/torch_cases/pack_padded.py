# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR168

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

rnn = nn.GRU(3, 4, batch_first=True)


def f(x, lens):
    p = pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
    out, _ = rnn(p)
    return pad_packed_sequence(out, batch_first=True)[0]


def args():
    return torch.randn(2, 5, 3), torch.tensor([5, 3])
