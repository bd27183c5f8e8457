"""Train a small vision transformer on pictures of 128 x 128 pixels."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from vit_pytorch import ViT


class Pictures(Dataset):
    def __init__(self, length=512, classes=100):
        self.length = length
        self.classes = classes

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 128, 128, generator=generator), index % self.classes


class Trainer:
    def __init__(self, classes=100, lr=3e-4, device="cpu"):
        self.device = device
        self.model = ViT(
            image_size=128, patch_size=16, num_classes=classes, dim=192, depth=4, heads=4, mlp_dim=384,
            dropout=0.1, emb_dropout=0.1,
        ).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def train_step(self, images, labels):
        self.optimizer.zero_grad()
        logits = self.model(images)
        loss = self.criterion(logits, labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def fit(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            for step, (images, labels) in enumerate(loader):
                loss = self.train_step(images.to(self.device), labels.to(self.device))
                if step % 100 == 0:
                    print(f"epoch {epoch} step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    loader = DataLoader(Pictures(), batch_size=8, shuffle=True)
    Trainer().fit(loader, epochs=3)
