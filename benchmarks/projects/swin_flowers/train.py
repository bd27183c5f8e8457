import torch
import torch.nn.functional as F
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

from swin import SwinTransformer

EPOCHS = 30


def get_loaders(batch_size=16):
    images = torch.randn(512, 3, 64, 64)
    labels = torch.randint(0, 102, (512,))
    return DataLoader(TensorDataset(images, labels), batch_size=batch_size, shuffle=True)


def train_one_epoch(model, loader, optimizer, epoch, device):
    model.train()
    running = 0.0
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(images)
        loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
        if step % 50 == 0:
            print(f"epoch {epoch} step {step} loss {running / (step + 1):.4f}")


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SwinTransformer().to(device)
    optimizer = AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
    scheduler = CosineAnnealingLR(optimizer, EPOCHS)
    loader = get_loaders()
    for epoch in range(EPOCHS):
        train_one_epoch(model, loader, optimizer, epoch, device)
        scheduler.step()


if __name__ == "__main__":
    main()
