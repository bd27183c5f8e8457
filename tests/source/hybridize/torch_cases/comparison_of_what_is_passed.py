# function: Diffusion.sample
# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, steps=3):
        super().__init__()
        self.steps = steps

    def sample(self, x, time, time_next):
        mean = x * time
        if time_next == 0:
            return mean
        return mean + torch.randn_like(x) * time_next

    def forward(self, x):
        times = torch.linspace(1.0, 0.0, self.steps + 1)
        for i in range(self.steps):
            x = self.sample(x, times[i], times[i + 1])
        return x


def once(x, time, time_next):
    return Diffusion().sample(x, time, time_next)


f = Diffusion()


def args():
    return (torch.randn(2, 3),)
