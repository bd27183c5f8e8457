# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn

unet = nn.Linear(4, 4)


def f(latents, cond, uncond, scale=7.5, do_cfg=True):
    inp = torch.cat([latents] * 2) if do_cfg else latents
    ctx = torch.cat([uncond, cond]) if do_cfg else cond
    noise = unet(inp + ctx)
    if do_cfg:
        nu, nc = noise.chunk(2)
        noise = nu + scale * (nc - nu)
    return noise


def args():
    return torch.randn(1, 4), torch.randn(1, 4), torch.randn(1, 4)
