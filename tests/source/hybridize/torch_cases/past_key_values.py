# function: Layer.forward
# breaks: none
# says: to_graph safe


import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.kv = nn.Linear(d, 2 * d)

    def forward(
        self,
        hidden_states: torch.Tensor,
        past: tuple[torch.Tensor, torch.Tensor] | None = None,
        use_cache: bool = False,
    ):
        k, v = self.kv(hidden_states).chunk(2, -1)
        if past is not None:
            k = torch.cat([past[0], k], dim=1)
            v = torch.cat([past[1], v], dim=1)
        present = (k, v) if use_cache else None
        out = torch.softmax(hidden_states @ k.transpose(1, 2), -1) @ v
        return (out, present) if use_cache else (out,)


f = Layer()


def args():
    return torch.randn(1, 2, 8), (torch.randn(1, 3, 8), torch.randn(1, 3, 8)), True
