# breaks: torch.* op returned non-Tensor
# says: keep unsafe STR166

import torch
import torch.nn.functional as F


def f(q):
    with torch.backends.cuda.sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=False):
        out = F.scaled_dot_product_attention(q, q, q)
    return out * 2


def args():
    return (torch.rand(1, 2, 4, 8),)
