"""Predict a number from a table with categories and continuous columns."""

import torch
from tab_transformer_pytorch import FTTransformer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CATEGORIES = (10, 5, 6, 5, 8)
ROWS = 4096


def load_table():
    categories = torch.stack([torch.randint(0, n, (ROWS,)) for n in CATEGORIES], dim=1)
    numbers = torch.randn(ROWS, 10)
    target = numbers.sum(1, keepdim=True) + categories.float().mean(1, keepdim=True)
    return TensorDataset(categories, numbers, target)


def train(epochs=10, batch_size=128, lr=1e-3):
    loader = DataLoader(load_table(), batch_size=batch_size, shuffle=True, drop_last=True)
    model = FTTransformer(
        categories=CATEGORIES, num_continuous=10, dim=32, dim_out=1, depth=2, heads=4, attn_dropout=0.1, ff_dropout=0.1
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    loss_fn = nn.MSELoss()
    model.train()
    for epoch in range(epochs):
        for categories, numbers, target in loader:
            prediction = model(categories, numbers)
            loss = loss_fn(prediction, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
    return model


if __name__ == "__main__":
    train()
