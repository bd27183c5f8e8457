"""Denoising diffusion on small pictures: the U-Net of a package, the noise schedule of our own."""

import torch
import torch.nn.functional as F
from denoising_diffusion_pytorch import Unet
from torch.utils.data import DataLoader, TensorDataset

STEPS = 1000

model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

betas = torch.linspace(1e-4, 0.02, STEPS)
alphas = torch.cumprod(1 - betas, dim=0)

pictures = TensorDataset(torch.rand(256, 3, 32, 32) * 2 - 1)
loader = DataLoader(pictures, batch_size=4, shuffle=True)

model.train()
for epoch in range(10):
    for (x,) in loader:
        t = torch.randint(0, STEPS, (x.shape[0],))
        noise = torch.randn_like(x)
        a = alphas[t].view(-1, 1, 1, 1)
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, loss.item())
