"""What a program needs is told before it runs, and `pack=False` leaves weights where they are, whatever reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import strop
from strop.verify.numeric import require_close


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).view(2, 10, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 10, 32))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(12, 24, batch_first=True), nn.GRU(24, 8, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.gru(self.lstm(x)[0])[0]


def _folded() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())


def _convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, groups=32), nn.Conv2d(32, 24, 1),
        nn.GroupNorm(2, 24), nn.ConvTranspose2d(24, 8, 2, 2), nn.Flatten(2), nn.Conv1d(8, 16, 3, dilation=2),
    )  # fmt: skip


NETWORKS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "convolutions": lambda: (_convolutions(), torch.randn(1, 16, 16, 16)),
    "mlp": lambda: (nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.Linear(32, 8)), torch.randn(4, 24)),
    "one row": lambda: (nn.Sequential(nn.Embedding(9, 16), nn.Linear(16, 32)), torch.tensor([3])),
    "attention": lambda: (Attention(), torch.randn(2, 10, 32)),
    "recurrent": lambda: (Recurrent(), torch.randn(2, 5, 12)),
}


def _session(model: nn.Module, x: Tensor, *, pack: bool) -> strop.Session:
    return strop.Session(model.eval(), (x,), options=strop.Options(pack=pack, check=True), threads=1)


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_without_packing_no_copy_of_a_weight_is_made(name: str) -> None:
    model, x = NETWORKS[name]()
    plain, packed = _session(model, x, pack=False), _session(model, x, pack=True)
    require_close(plain.module(x), model(x), tolerance=1e-5)
    assert plain.summary()["packed_bytes"] == 0 < packed.summary()["packed_bytes"]


@torch.no_grad()
def test_without_packing_only_folded_weights_are_kept() -> None:
    model, x = _folded(), torch.randn(1, 3, 32, 32)
    session = _session(model, x, pack=False)
    require_close(session.module(x), model.eval()(x), tolerance=1e-5)
    folded = sum(t.numel() * t.element_size() for t in model[0].parameters())
    padding = 2 * 128  # each of the two tensors begins at a multiple of 64 bytes, with as many to spare
    assert folded <= session.summary()["packed_bytes"] <= folded + padding


@pytest.mark.parametrize("again", [False, True], ids=["compiled", "from the cache"])
def test_the_summary_and_the_journal_tell_the_same(again: bool) -> None:
    model, x = _convolutions(), torch.randn(1, 16, 18, 18)
    session = _session(model, x, pack=True)
    if again:
        session = strop.Session(model.eval(), (x,), threads=1)
        assert session.cache_hit
    summary = session.summary()
    note = next(event for event in session.journal.of("note") if event.subject == "memory")
    assert note.data == {key: summary[key] for key in ("arena_bytes", "packed_bytes")}
    assert "intermediate" in note.message and note.message in session.explain()


def test_tensors_that_never_live_at_once_share_the_arena() -> None:
    x = torch.randn(1, 64, 64)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Softmax(-1)) for _ in range(4)))
    summary = _session(model, x, pack=True).summary()
    tensor = 4 * x.numel()
    assert tensor <= summary["arena_bytes"] <= 2 * (tensor + 128) < summary["arena_without_reuse_bytes"]
