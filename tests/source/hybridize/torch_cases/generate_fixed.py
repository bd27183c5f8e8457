# breaks: none
# says: to_graph safe

import torch
from torch import nn

emb = nn.Embedding(10, 4)
head = nn.Linear(4, 10)


def f(tok):
    out = [tok]
    for _ in range(5):
        tok = head(emb(tok)).argmax(-1)
        out.append(tok)
    return torch.stack(out)


def args():
    return (torch.tensor([1]),)
