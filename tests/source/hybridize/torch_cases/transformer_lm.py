# function: LM.forward
# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


class LM(nn.Module):
    def __init__(self, ntoken=20, ninp=8):
        super().__init__()
        self.src_mask = None
        self.pos = PositionalEncoding(ninp)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(ninp, 2, 16, batch_first=False), 2)
        self.emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.dec = nn.Linear(ninp, ntoken)

    def _mask(self, sz):
        return torch.log(torch.tril(torch.ones(sz, sz)))

    def forward(self, src, has_mask=True):
        if has_mask:
            if self.src_mask is None or self.src_mask.size(0) != len(src):
                self.src_mask = self._mask(len(src)).to(src.device)
        else:
            self.src_mask = None
        src = self.emb(src) * math.sqrt(self.ninp)
        out = self.enc(self.pos(src), mask=self.src_mask)
        return self.dec(out)


f = LM()


def args():
    return (torch.randint(0, 20, (5, 2)),)
