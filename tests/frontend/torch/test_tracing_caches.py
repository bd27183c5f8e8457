"""Capturing a module leaves process-wide caches as they were: what it adds to them would outlive it."""

from __future__ import annotations

import linecache

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.frontend.torch.export import capture
from strop.frontend.torch.tracing_caches import without_leftovers


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeTensorMode, "cache", {})
    monkeypatch.setattr(linecache, "cache", {})


def test_a_capture_leaves_neither_fake_results_nor_source_lines() -> None:
    capture(nn.Sequential(nn.Linear(8, 16), nn.ReLU()).eval(), (torch.randn(2, 8),))
    assert not FakeTensorMode.cache and not linecache.cache


def test_tracing_fills_these_caches() -> None:
    torch.export.export(nn.Sequential(nn.Linear(8, 16), nn.ReLU()).eval(), (torch.randn(2, 8),))
    assert FakeTensorMode.cache and linecache.cache


def test_entries_that_were_there_before_stay() -> None:
    lines = linecache.getlines(__file__)
    with without_leftovers():
        linecache.getlines(linecache.__file__)
    assert list(linecache.cache) == [__file__] and linecache.getlines(__file__) is lines


def test_entries_go_when_tracing_fails() -> None:
    with pytest.raises(ZeroDivisionError), without_leftovers():
        linecache.getlines(__file__)
        _ = 1 / 0
    assert not linecache.cache
