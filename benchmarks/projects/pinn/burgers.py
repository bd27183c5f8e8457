"""A network with sine features that solves for a wave, on points drawn anew at every step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SineLayer(nn.Module):
    def __init__(self, n_in, n_out, omega=30.0):
        super().__init__()
        self.omega = omega
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class Field(nn.Module):
    def __init__(self, width=64, depth=5):
        super().__init__()
        self.first = SineLayer(2, width)
        self.hidden = nn.ModuleList([SineLayer(width, width) for _ in range(depth)])
        self.gates = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, points):
        h = self.first(points)
        for layer, gate in zip(self.hidden, self.gates):
            g = torch.sigmoid(gate(h))
            h = g * layer(h) + (1 - g) * h
            h = h / (1e-6 + h.pow(2).mean(dim=-1, keepdim=True).sqrt())
        return self.out(h)


def wave(points):
    x, t = points.unbind(-1)
    return (torch.sin(3 * x - 2 * t) * torch.exp(-t.abs())).unsqueeze(-1)


field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
points = torch.rand(16384, 2) * 2 - 1
loader = DataLoader(TensorDataset(points, wave(points)), batch_size=1024, shuffle=True)

for epoch in range(50):
    for where, value in loader:
        optimizer.zero_grad(set_to_none=True)
        error = ((field(where) - value) ** 2).mean()
        error.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(epoch, error.item())
