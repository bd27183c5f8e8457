"""Fine-tune a ConvNeXt of timm on ten classes."""

import argparse

import timm
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="convnext_atto")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=4)
    return parser.parse_args()


def main(args):
    model = timm.create_model(args.model, pretrained=False, num_classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
    dataset = TensorDataset(torch.randn(64, 3, 96, 96), torch.randint(0, 10, (64,)))
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"{epoch}: {running / len(loader):.3f}")


if __name__ == "__main__":
    main(parse())
