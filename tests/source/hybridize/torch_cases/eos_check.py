# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch


def f(tokens, eos=2):
    done = (tokens == eos).any(dim=1)
    if done.all():
        return tokens
    return torch.cat([tokens, tokens[:, -1:]], 1)


def args():
    return (torch.randint(0, 5, (2, 3)),)
