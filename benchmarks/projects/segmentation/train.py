"""Segment buildings in aerial pictures with a U-Net over a ResNet."""

import segmentation_models_pytorch as smp
import torch
from torch.utils.data import DataLoader, TensorDataset


def get_loader(batch_size):
    images = torch.randn(64, 3, 128, 128)
    masks = (torch.rand(64, 1, 128, 128) > 0.5).float()
    return DataLoader(TensorDataset(images, masks), batch_size=batch_size, shuffle=True)


class SegmentationTask:
    def __init__(self):
        self.net = smp.Unet("resnet18", encoder_weights=None, in_channels=3, classes=1)
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def epoch(self, loader):
        self.net.train()
        for image, mask in loader:
            self.opt.zero_grad()
            loss = self.loss(self.net(image), mask)
            loss.backward()
            self.opt.step()
        return float(loss)


if __name__ == "__main__":
    task = SegmentationTask()
    loader = get_loader(batch_size=2)
    for epoch in range(4):
        print(epoch, task.epoch(loader))
