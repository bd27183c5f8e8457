# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(logits, eos: int):
    out = []
    for step in logits:
        tok = step.argmax()
        out.append(tok)
        if tok == eos:
            break
    return torch.stack(out)


def args():
    return torch.randn(5, 10), 3
