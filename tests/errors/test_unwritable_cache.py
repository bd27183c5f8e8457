"""A cache that cannot be used: compilation goes on without it and says so once."""

import os

import pytest
import torch
from torch import nn

import strop
from strop.core.journal import StropWarning

X = torch.ones(2, 3)


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()


def _compiles(model):
    fast = strop.compile(model, (X,), threads=1)
    with torch.no_grad():
        torch.testing.assert_close(fast(X), model(X))


def test_a_file_in_its_place(model, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("not a directory")
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / "cache"))
    with pytest.warns(StropWarning, match=r"cannot be written .* going on without \[STR502\]"):
        _compiles(model)


def test_a_path_below_a_file(model, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(StropWarning, match="STR502"):
        _compiles(model)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(model, tmp_path, monkeypatch):
    place = tmp_path / "cache"
    place.mkdir(mode=0o500)
    monkeypatch.setenv("STROP_CACHE", str(place))
    with pytest.warns(StropWarning, match="STR502"):
        _compiles(model)


def test_a_full_disk(model, tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("strop.core.cache.tempfile.mkstemp", full)
    with pytest.warns(StropWarning, match="No space left on device"):
        _compiles(model)
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permissions here")
def test_a_directory_that_others_may_write_to_is_not_trusted(model, tmp_path, monkeypatch):
    place = tmp_path / "cache"
    place.mkdir()
    place.chmod(0o777)
    monkeypatch.setenv("STROP_CACHE", str(place))
    with pytest.warns(StropWarning, match="may be written by every user"):
        _compiles(model)
    assert not list(place.iterdir())


def test_it_is_said_once(model, tmp_path, monkeypatch, recwarn):
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / "cache"))
    _compiles(model)
    _compiles(model)
    assert sum("STR502" in str(w.message) for w in recwarn) == 1


def test_switched_off_it_is_silent(model, monkeypatch, recwarn):
    monkeypatch.setenv("STROP_CACHE", "off")
    _compiles(model)
    assert not recwarn.list
