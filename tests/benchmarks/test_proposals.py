"""The benchmark of proposals: projects, the pace that they run at, and what is said of the figures."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import proposals
import pytest

LOADER = """
from torch.utils.data import DataLoader
steps = 0
for batch in DataLoader([1, 2, 3]):
    steps += 1
    print("step", steps)
"""
QUEUE = """
import queue
waiting = queue.Queue()
waiting.put("request")
waiting.put(None)
while True:
    item = waiting.get()
    if item is None:
        break
    print("step", item)
"""


@pytest.mark.parametrize("script", [LOADER, QUEUE], ids=["loader", "queue"])
def test_a_script_runs_as_many_steps_as_it_is_told_to(script: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    command = [sys.executable, str(proposals.ROOT / "benchmarks" / "paced.py"), "train.py"]
    done = subprocess.run(command, input="1\n5\n", capture_output=True, text=True, cwd=tmp_path)
    start, one, each = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("step") == 6
    assert start > 0 and one > 0 and each > 0


def test_every_project_is_in_the_table() -> None:
    assert sorted(proposals.PROJECTS) == sorted(path.name for path in proposals.FOLDER.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", proposals.PROJECTS)
def test_a_project_compiles_nothing_by_itself(name: str) -> None:
    assert (proposals.FOLDER / name / proposals.PROJECTS[name].script).is_file()
    for file in (proposals.FOLDER / name).glob("*.py"):
        attributes = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if hasattr(node, "attr")]
        assert not any(node.attr == "compile" for node in attributes)


def test_what_nothing_is_proposed_for_does_not_count_as_a_gain() -> None:
    rows = {
        "one": {"kind": "training", "pytorch": {"edits": {"STR150": 1}, "speedup": 1.5}},
        "two": {"kind": "training", "pytorch": {"edits": {"STR150": 1}, "speedup": 1.1}},
        "three": {"kind": "training", "pytorch": {"edits": {}}},
    }
    said = proposals.summaries(rows)
    assert said == {"pytorch, training": {"projects": 3, "proposed": 2, "median": 1.3, "least": 1.1}}
