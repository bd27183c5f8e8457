import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from mamba import Mamba


class Bytes(Dataset):
    def __init__(self, length=64):
        self.data = torch.randint(0, 256, (50_000,))
        self.length = length

    def __len__(self):
        return len(self.data) // self.length - 1

    def __getitem__(self, i):
        chunk = self.data[i * self.length : (i + 1) * self.length + 1]
        return chunk[:-1], chunk[1:]


def main():
    torch.manual_seed(1337)
    model = Mamba()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    loader = DataLoader(Bytes(), batch_size=8, shuffle=True)
    for epoch in range(10):
        for it, (x, y) in enumerate(loader):
            logits = model(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.reshape(-1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if it % 20 == 0:
                print(f"{epoch}:{it} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
