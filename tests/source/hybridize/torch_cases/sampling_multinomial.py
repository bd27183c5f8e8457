# breaks: none
# says: to_graph safe-if

import torch


def f(logits, temperature=1.0, top_k=3):
    logits = logits / temperature
    v, _ = torch.topk(logits, top_k)
    logits[logits < v[:, [-1]]] = -float("Inf")
    return torch.multinomial(logits.softmax(-1), 1)


def args():
    return (torch.randn(3, 5),)
