from __future__ import annotations

import re

import torch
from torch import nn

import strop
from strop.core.journal import Journal
from strop.driver import pipeline


def test_compiling_tells_how_much_is_done(monkeypatch):
    monkeypatch.setattr(pipeline, "TELLS", 0.0)
    told = []
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.LayerNorm(16), nn.Softmax(1)).eval()
    options = strop.Options(threads=1, cache=False)
    strop.Session(model, (torch.randn(2, 8),), options=options, journal=Journal(on_step=told.append))
    counts = [re.fullmatch(r"compile: (\d+) of (\d+) parts", step) for step in told]
    done = [(int(found[1]), int(found[2])) for found in counts if found]
    assert done == [(i + 1, len(done)) for i in range(len(done))] and done
    assert "emit: 1 parts" in told
