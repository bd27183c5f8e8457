# breaks: none
# says: to_graph safe-if

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def f(q):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, q, q)


def args():
    return (torch.randn(1, 2, 3, 4),)
