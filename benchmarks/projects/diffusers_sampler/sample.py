"""Draw pictures: the U-Net of diffusers, a DDIM loop of our own, requests from a queue."""

import queue

import torch
from diffusers import UNet2DModel

requests = queue.Queue()
unet = UNet2DModel(
    sample_size=32,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(32, 64),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
).eval()
alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), dim=0)


@torch.no_grad()
def sample(batch, steps=4):
    x = torch.randn(batch, 3, 32, 32)
    times = torch.linspace(999, 0, steps).long()
    for now, then in zip(times[:-1], times[1:]):
        noise = unet(x, now).sample
        a, b = alphas[now], alphas[then]
        clean = (x - (1 - a).sqrt() * noise) / a.sqrt()
        x = b.sqrt() * clean + (1 - b).sqrt() * noise
    return x.clamp(-1, 1)


def worker():
    while True:
        batch = requests.get()
        if batch is None:
            return
        sample(batch)


if __name__ == "__main__":
    for _ in range(20):
        requests.put(2)
    requests.put(None)
    worker()
