# breaks: none
# says: to_graph safe-if

import torch


def f(logits, p=0.9):
    s, i = torch.sort(logits, descending=True)
    c = s.softmax(-1).cumsum(-1)
    remove = c > p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return logits.masked_fill(remove.scatter(-1, i, remove), float("-inf"))


def args():
    return (torch.randn(2, 5),)
