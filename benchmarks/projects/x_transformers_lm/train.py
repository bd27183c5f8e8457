"""A language model of characters, after the example of x-transformers' README."""

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from x_transformers import Decoder, TransformerWrapper

SEQ_LEN = 256


class TextDataset(Dataset):
    def __init__(self, data, seq_len):
        self.data = data
        self.seq_len = seq_len

    def __getitem__(self, index):
        start = torch.randint(0, self.data.size(0) - self.seq_len - 1, (1,))
        return self.data[start : start + self.seq_len + 1].long()

    def __len__(self):
        return self.data.size(0) // self.seq_len


data = torch.randint(0, 256, (100_000,), dtype=torch.uint8)
loader = DataLoader(TextDataset(data, SEQ_LEN), batch_size=4, shuffle=True)

model = TransformerWrapper(
    num_tokens=256,
    max_seq_len=SEQ_LEN,
    attn_layers=Decoder(dim=192, depth=4, heads=4, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True),
)
optim = torch.optim.Adam(model.parameters(), lr=1e-4)

for epoch in range(5):
    model.train()
    for batch in loader:
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optim.step()
        optim.zero_grad()
    print(f"training loss: {loss.item()}")
