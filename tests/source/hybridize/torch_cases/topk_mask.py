# breaks: none
# says: to_graph safe

import torch
import torch.nn.functional as F


def f(logits, k: int = 2):
    v, _ = torch.topk(logits, k)
    logits = logits.clone()
    logits[logits < v[:, [-1]]] = -float("inf")
    return F.softmax(logits, dim=-1)


def args():
    return (torch.randn(2, 5),)


if __name__ == "__main__":
    f(*args())
