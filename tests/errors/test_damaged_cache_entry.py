"""A cache entry that is not what was written: it is deleted, the model is compiled anew, and the user is told."""

import hashlib

import pytest
import torch
from torch import nn

import strop
from runtime.artifacts import body_of, canonical, header_of, sealed
from strop.core.cache import Cache
from strop.core.journal import StropWarning

X = torch.ones(3, 5)


def _flip_a_bit(data):
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


def _whole_but_no_program(data):
    content = b"some other program wrote this"
    return data[:8] + hashlib.sha256(content).digest() + content


def _other_artifact(change):
    """A program whose checksums are right and whose header is not."""

    def damage(data):
        content = data[40:]
        header = header_of(content)
        made = sealed(canonical({**header, **change(header)}), body_of(content))
        return data[:8] + hashlib.sha256(made).digest() + made

    return damage


def _another_version(data):
    content = data[40:]
    made = sealed(canonical(header_of(content)), body_of(content), version=99)
    return data[:8] + hashlib.sha256(made).digest() + made


DAMAGE = {
    "a flipped bit": _flip_a_bit,
    "half of it": lambda data: data[: len(data) // 2],
    "nothing left": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "the wrong content": _whole_but_no_program,
    "another version": _another_version,
    "a table that is too small": _other_artifact(lambda header: {"slots": 2}),
    "no entry of that name": _other_artifact(lambda header: {"steps": [{"native": "abort"}]}),
    "an output of another type": _other_artifact(lambda header: {"outputs": [[0, "f99", [2**60], False]]}),
}


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """A compiled model's only cache entry."""
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh()).eval()
    strop.compile(model, (X,), threads=1)
    (path,) = tmp_path.rglob("*.bin")
    return model, path


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_it_is_replaced(entry, damage):
    model, path = entry
    good = path.read_bytes()
    path.write_bytes(damage(good))
    with pytest.warns(StropWarning, match="STR501"):
        fast = strop.compile(model, (X,), threads=1)
    with torch.no_grad():
        torch.testing.assert_close(fast(X), model(X))
    assert path.read_bytes() == good
    assert strop.Session(model, (X,), threads=1).cache_hit


def test_an_entry_that_is_a_directory(entry):
    model, path = entry
    path.unlink()
    path.mkdir()
    with pytest.warns(StropWarning):
        fast = strop.compile(model, (X,), threads=1)
    with torch.no_grad():
        torch.testing.assert_close(fast(X), model(X))
    assert len(Cache().entries()) <= 1
