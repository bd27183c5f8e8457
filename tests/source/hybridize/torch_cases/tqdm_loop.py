# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR158

import torch
from tqdm import tqdm


def f(x):
    for _ in tqdm(range(3), disable=True):
        x = x * 1.1
    return x


def args():
    return (torch.randn(2),)
