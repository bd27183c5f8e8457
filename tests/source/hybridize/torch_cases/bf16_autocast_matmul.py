# breaks: none
# says: to_graph safe-if

import torch


def f(a, b):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        c = a @ b
    return c.float().mean()


def args():
    return (torch.randn(4, 4), torch.randn(4, 4))
