import hashlib
import os
import subprocess
import sys
import time

import pytest

from strop.core.cache import Cache, default_directory
from strop.core.journal import Journal, StropWarning
from strop.core.problem import Problem


def key_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


KEY = key_of("conv")


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache", journal=Journal())


def stored_file(cache):
    (file,) = cache.directory.rglob("*.bin")
    return file


def messages(cache):
    return [event.message for event in cache.journal.of("cache")]


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 1000])
def test_what_is_put_comes_back(cache, content):
    assert cache.get(KEY) is None
    assert cache.put(KEY, content)
    assert Cache(cache.directory).get(KEY) == content
    assert cache.get(KEY) == content
    assert messages(cache) == ["stored", "hit"]


def test_a_new_content_replaces_the_old(cache):
    cache.put(KEY, b"one")
    cache.put(KEY, b"two")
    assert cache.get(KEY) == b"two" and len(cache.entries()) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:5],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data + b"more",
        lambda data: b"X" + data[1:],
    ],
    ids=["truncated", "only a header's beginning", "empty", "one bit", "longer", "another magic"],
)
def test_a_damaged_entry_is_deleted_and_reported(cache, damage):
    cache.put(KEY, b"machine code")
    file = stored_file(cache)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(StropWarning, match="STR501"):
        assert cache.get(KEY) is None
    assert not file.exists()
    assert cache.put(KEY, b"machine code") and cache.get(KEY) == b"machine code"


def test_an_unwritable_directory_is_reported_once_and_compiling_goes_on(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    cache = Cache(tmp_path / "file" / "cache", journal=Journal())
    with pytest.warns(StropWarning, match="STR502") as shown:
        assert not cache.put(KEY, b"x")
        assert not cache.put(KEY, b"x")
    assert len(shown) == 1 and cache.get(KEY) is None and cache.entries() == [] and cache.clear() == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files on this platform")
def test_a_directory_that_everybody_may_write_is_not_trusted(cache):
    cache.put(KEY, b"machine code")
    cache.directory.chmod(0o777)
    fresh = Cache(cache.directory, journal=Journal())
    with pytest.warns(StropWarning, match="every user"):
        assert fresh.get(KEY) is None
    assert not fresh.put(KEY, b"other")


def test_the_directory_is_made_for_this_user_alone(cache):
    cache.put(KEY, b"x")
    assert cache.directory.stat().st_mode & 0o077 == 0


def test_the_least_recently_used_go_first(tmp_path):
    cache = Cache(tmp_path, limit=5000, journal=Journal())
    keys = [key_of(str(i)) for i in range(4)]
    for age, key in enumerate(keys):
        cache.put(key, bytes(1000))
        os.utime(cache.directory / key[:2] / f"{key}.bin", (0, 1000 + age))
    assert cache.get(keys[0]) is not None  # used just now: no longer the oldest
    cache.put(key_of("new"), bytes(1500))
    left = {entry.key for entry in cache.entries()}
    assert left == {keys[0], keys[3], key_of("new")}
    assert sum(entry.bytes for entry in cache.entries()) <= 5000
    assert any("least recently used" in message for message in messages(cache))


def test_what_is_larger_than_the_cache_is_not_stored(tmp_path):
    cache = Cache(tmp_path, limit=1000, journal=Journal())
    cache.put(KEY, b"small")
    assert not cache.put(key_of("big"), bytes(1000))
    assert cache.get(KEY) == b"small"


def test_left_overs_of_dead_processes_go_with_time_and_fresh_ones_stay(tmp_path):
    cache = Cache(tmp_path, limit=10**6)
    shelf = tmp_path / KEY[:2]
    shelf.mkdir()
    (shelf / ".new-dead.tmp").write_bytes(b"half")
    (shelf / ".new-alive.tmp").write_bytes(b"half")
    os.utime(shelf / ".new-dead.tmp", (0, time.time() - 7200))
    cache.put(KEY, b"x")
    assert sorted(p.name for p in shelf.iterdir()) == [".new-alive.tmp", f"{KEY}.bin"]


def test_an_interrupted_write_leaves_nothing(cache, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put(KEY, b"x")
    assert [p for p in cache.directory.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "ABCDEF0123456789", "abc", KEY + "/x"])
def test_only_digests_are_keys(cache, key):
    with pytest.raises(Problem, match="STR503"):
        cache.put(key, b"x")


def test_clear_deletes_entries_and_nothing_else(cache):
    cache.put(KEY, b"x")
    (cache.directory / "notes.txt").write_text("mine")
    assert cache.clear() == 1
    assert cache.entries() == [] and (cache.directory / "notes.txt").exists()


WORKER = """
import hashlib, sys
from strop.core.cache import Cache
cache = Cache(sys.argv[1], limit=200_000)
bad = 0
for turn in range(60):
    for name in ("a", "b", "c", "d"):
        key = hashlib.sha256(name.encode()).hexdigest()
        content = (name * 30_000).encode()
        found = cache.get(key)
        bad += found is not None and found != content
        cache.put(key, content)
        cache.put(hashlib.sha256(f"{sys.argv[2]}{turn}".encode()).hexdigest(), bytes(20_000))
sys.exit(1 if bad or any(e.kind == "cache" and "STR" in e.message for e in cache.journal.events) else 0)
"""


def test_processes_share_a_cache_under_eviction_without_ever_seeing_a_torn_entry(tmp_path):
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(i)]) for i in range(3)]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    cache = Cache(tmp_path)
    assert all(cache.get(entry.key) is not None for entry in cache.entries())
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_environment_names_the_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / "here"))
    assert default_directory() == tmp_path / "here"
    monkeypatch.delenv("STROP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_directory() == tmp_path / "strop"
