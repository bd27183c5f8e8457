"""The tuning database keeps what was committed, whatever happens to its processes, its disk and its file."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from strop.core.problem import Problem
from strop.core.tuning_database import MEASUREMENT, SCHEMA, TuningDatabase, TuningRecord

RECORD = TuningRecord("nest", "target", "v1", 1, True, "znver4", "f32[2] → f32[2]", "a{}", "estimate", 0.9, 2, "{}")


@pytest.fixture
def store(tmp_path):
    return TuningDatabase(tmp_path / "tuning.sqlite")


def numbered(count: int, **new: object) -> list[TuningRecord]:
    return [replace(RECORD, nest=f"nest{i}", **new) for i in range(count)]


def test_a_record_is_found_under_its_whole_key_only(store):
    store.put(RECORD)
    assert store.get(RECORD.key) == RECORD
    assert store.passes("target", "v1", 1, True) == {"nest": "a{}"}
    for other in (
        ("x", "v1", 1, True),
        ("target", "v2", 1, True),
        ("target", "v1", 2, True),
        ("target", "v1", 1, False),
    ):
        assert store.passes(*other) == {}


def test_a_nest_that_keeps_its_default_schedule_is_not_offered(store):
    store.put(replace(RECORD, passes="", ratio=1.0))
    assert store.passes("target", "v1", 1, True) == {}
    assert store.get(RECORD.key).rounds == 2


def test_reading_makes_no_file(store):
    assert store.records() == [] and store.get(RECORD.key) is None and store.passes("t", "v", 1, True) == {}
    assert not store.path.exists()


def test_an_export_carries_everything_byte_for_byte(store, tmp_path):
    store.put_all(numbered(5) + numbered(3, target="other", version="v2"))
    other = TuningDatabase(tmp_path / "other.sqlite")
    assert other.merge(reversed(TuningDatabase.parse(store.export(), "a"))) == 8
    assert other.export() == store.export()
    assert other.merge(store.records()) == 0


def test_merging_keeps_records_of_other_versions_and_machines(store):
    store.put_all([RECORD, replace(RECORD, version="v2"), replace(RECORD, target="other")])
    store.merge([replace(RECORD, ratio=0.8, rounds=3)])
    assert len(store.records()) == 3
    assert store.get(RECORD.key).ratio == 0.8


@pytest.mark.parametrize(
    "better",
    [
        replace(RECORD, source=MEASUREMENT, ratio=0.99, rounds=1),
        replace(RECORD, rounds=3, ratio=1.0, passes=""),
        replace(RECORD, ratio=0.7, passes="b{}"),
    ],
)
def test_of_two_records_the_better_one_is_kept_in_either_order(tmp_path, better):
    found = []
    for number, order in enumerate([(RECORD, better), (better, RECORD)]):
        store = TuningDatabase(tmp_path / f"{number}.sqlite")
        for one in order:
            store.merge([one])
        found.append(store.records())
    assert found[0] == found[1] == [better]


@pytest.mark.parametrize("text", ["", "no json", '{"format": "something"}', "[]"])
def test_what_is_no_export_is_refused(text):
    with pytest.raises(Problem, match="is no export"):
        TuningDatabase.parse(text, "file")


def test_a_damaged_export_names_its_line(store):
    store.put_all(numbered(3))
    lines = store.export().splitlines()
    for broken in (lines[2][:40], "{}", json.dumps({**json.loads(lines[2]), "threads": "one"})):
        with pytest.raises(Problem, match="line 3 of here is no record"):
            TuningDatabase.parse("\n".join([*lines[:2], broken, lines[3]]), "here")


# ---- bad files -------------------------------------------------------------------------------------------------------


def test_a_newer_schema_is_left_alone(store):
    store.put(RECORD)
    with sqlite3.connect(store.path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = store.path.read_bytes()
    for attempt in (store.records, lambda: store.put(RECORD), lambda: store.passes("target", "v1", 1, True)):
        with pytest.raises(Problem, match="newer Strop"):
            attempt()
    assert store.path.read_bytes() == before
    head = json.dumps({"format": "strop-tuning", "schema": SCHEMA + 1})
    with pytest.raises(Problem, match="newer Strop"):
        TuningDatabase.parse(head, "export")


def test_a_database_of_something_else_is_left_alone(store):
    with sqlite3.connect(store.path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(Problem, match="something else"):
        store.put(RECORD)


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 40, os.urandom(5000)])
def test_a_file_that_is_no_database_is_said_to_be_damaged(store, content):
    store.path.write_bytes(content)
    with pytest.raises(Problem, match="damaged, or no database"):
        store.records()


def test_a_truncated_file_is_either_read_whole_or_said_to_be_damaged(store, tmp_path):
    store.put_all(numbered(400, state="x" * 300))
    whole, wanted = store.path.read_bytes(), store.records()
    cut = TuningDatabase(tmp_path / "cut.sqlite")
    for share in range(1, 100, 3):
        cut.path.write_bytes(whole[: len(whole) * share // 100])
        with pytest.raises(Problem, match="damaged"):
            cut.records()
    cut.path.write_bytes(whole)
    assert cut.records() == wanted


def test_an_empty_file_is_an_empty_database(store):
    store.path.touch()
    assert store.records() == []
    store.put(RECORD)
    assert store.records() == [RECORD]


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Problem, match="cannot be used"):
        TuningDatabase(tmp_path / "file" / "tuning.sqlite").put(RECORD)


# ---- processes -------------------------------------------------------------------------------------------------------

WRITER = """
import resource, sys
from dataclasses import replace
from strop.core.tuning_database import TuningDatabase, TuningRecord
from test_tuning_database import RECORD
path, name, count, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store = TuningDatabase(path)
for number in range(count):
    store.put(replace(RECORD, nest=f"{name}{number}", state="x" * 2000))
    print(number, flush=True)
"""


def writer(path: Path, name: str, count: int, limit: int = 0) -> subprocess.Popen[str]:
    where = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = [sys.executable, "-c", WRITER, str(path), name, str(count), str(limit)]
    env = {**os.environ, "PYTHONPATH": where}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def test_two_processes_that_write_at_once_lose_nothing(store):
    writers = [writer(store.path, name, 60) for name in "ab"]
    assert [one.wait(60) for one in writers] == [0, 0]
    assert len(store.records()) == 120


def test_a_full_disk_is_told_and_what_was_committed_stays(store):
    running = writer(store.path, "a", 1000, limit=100_000)
    said, problem = running.communicate(timeout=60)
    assert running.returncode == 1 and "STR505" in problem and "still there" in problem
    done = len(said.split())
    assert 0 < done < 1000
    assert {f"a{number}" for number in range(done)} <= {one.nest for one in store.records()}
    store.put(RECORD)
    assert store.get(RECORD.key) == RECORD


def _write_for_ever(store: TuningDatabase, name: str, said: int) -> None:
    """In a process of its own: commits records, and says so after each."""
    for number in range(10_000):
        store.put(replace(RECORD, nest=f"{name}.{number}", state="x" * 2000))
        os.write(said, f"{name}.{number}\n".encode())
    os._exit(0)


def test_a_hundred_kills_at_random_moments_lose_nothing_that_was_committed(store):
    rng, committed = random.Random(0), set[str]()
    for kill in range(100):
        heard, said = os.pipe()
        child = os.fork()
        if not child:
            _write_for_ever(store, str(kill), said)
        os.close(said)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(heard) as lines:
            committed |= set(lines.read().splitlines())
        if kill % 10 == 9:
            assert committed <= {one.nest for one in store.records()}
    assert committed
    assert sqlite3.connect(store.path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
