import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

from model import Recognizer


class Utterances(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        features = torch.randn(80, 400, generator=generator)
        letters = torch.randint(1, 32, (20,), generator=generator)
        return features, letters


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for features, letters in loader:
        log_probs = model(features).transpose(0, 1)
        frames = torch.full((features.shape[0],), log_probs.shape[0], dtype=torch.long)
        lengths = torch.full((features.shape[0],), letters.shape[1], dtype=torch.long)
        loss = criterion(log_probs, letters, frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    loader = DataLoader(Utterances(), batch_size=args.batch_size, shuffle=True)
    model = Recognizer()
    criterion = nn.CTCLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        print(epoch, train_one_epoch(model, loader, criterion, optimizer))


if __name__ == "__main__":
    main()
