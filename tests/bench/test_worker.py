"""What a contender's process does when it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.bench import worker
from strop.bench.contenders import Task
from strop.bench.memory import ONE_LAYER


def test_memory_that_writing_the_outputs_took_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / worker.outputs_of("eager")
    there = []
    monkeypatch.setattr(worker, "trim", lambda: there.append(written.exists()))
    worker._prepare(Task(ONE_LAYER, "eager", 1, tmp_path))
    assert there == [True]
