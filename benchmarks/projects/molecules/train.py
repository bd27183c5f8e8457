"""Message passing on molecules: edges gather from nodes, nodes sum over edges."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Molecules(Dataset):
    def __init__(self, n=512, atoms=24, bonds=60):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randint(0, 20, (n, atoms), generator=g)
        self.edges = torch.randint(0, atoms, (n, 2, bonds), generator=g)
        self.attr = torch.randn(n, bonds, 8, generator=g)
        self.y = torch.randn(n, 1, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.edges[i], self.attr[i], self.y[i]


def collate(items):
    xs, edges, attrs, ys = zip(*items)
    offsets = torch.arange(len(xs)) * xs[0].shape[0]
    edge_index = torch.cat([e + o for e, o in zip(edges, offsets)], dim=1)
    batch = torch.arange(len(xs)).repeat_interleave(xs[0].shape[0])
    return torch.cat(xs), edge_index, torch.cat(attrs), batch, torch.stack(ys)


class MessagePassing(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.gate = nn.Linear(hidden, 1)
        self.update = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, h, edge_index, e):
        src, dst = edge_index
        m = self.message(torch.cat([h[src], h[dst], e], dim=-1))
        m = m * torch.sigmoid(self.gate(m))
        agg = torch.zeros_like(h).index_add_(0, dst, m)
        return self.norm(h + self.update(torch.cat([h, agg], dim=-1)))


class GNN(nn.Module):
    def __init__(self, num_atoms=20, edge_dim=8, hidden=96, layers=4):
        super().__init__()
        self.embed = nn.Embedding(num_atoms, hidden)
        self.edge = nn.Linear(edge_dim, hidden)
        self.convs = nn.ModuleList([MessagePassing(hidden) for _ in range(layers)])
        self.readout = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, x, edge_index, edge_attr, batch, num_graphs):
        h = self.embed(x)
        e = self.edge(edge_attr)
        for conv in self.convs:
            h = conv(h, edge_index, e)
        pooled = torch.zeros(num_graphs, h.size(1), device=h.device)
        pooled.scatter_add_(0, batch.unsqueeze(-1).expand_as(h), h)
        return self.readout(pooled)


model = GNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.L1Loss()
loader = DataLoader(Molecules(), batch_size=32, shuffle=True, collate_fn=collate)

for epoch in range(100):
    total = 0.0
    for x, edge_index, edge_attr, batch, y in loader:
        optimizer.zero_grad()
        pred = model(x, edge_index, edge_attr, batch, y.size(0))
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
