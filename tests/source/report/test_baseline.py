"""Only what is new: baselines and changed lines."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from source.findings import finding, insertion
from strop.core.problem import Problem
from strop.source.facts import Edit
from strop.source.report.baseline import beyond_baseline, changed_lines, on_changed_lines, write_baseline


def at(path, line, message="breaks", function="step"):
    return finding(Edit(insertion(path, line), ""), message=message, function=function)


@pytest.fixture
def baseline(tmp_path):
    return str(tmp_path / "base.json")


def test_what_is_known_is_not_reported_wherever_it_moves(tmp_path, baseline):
    file = tmp_path / "a.py"
    assert write_baseline(baseline, [at(file, 3), at(file, 9)]) == 2
    assert beyond_baseline(baseline, [at(file, 13), at(file, 19)]) == []
    assert [f.place.line for f in beyond_baseline(baseline, [at(file, 13), at(file, 19), at(file, 30)])] == [30]


def test_line_numbers_in_messages_do_not_count(tmp_path, baseline):
    write_baseline(baseline, [at(tmp_path / "a.py", 3, "called at b.py:14, line 3")])
    assert beyond_baseline(baseline, [at(tmp_path / "a.py", 3, "called at b.py:99, line 4")]) == []


def test_another_function_is_new(tmp_path, baseline):
    write_baseline(baseline, [at(tmp_path / "a.py", 3)])
    assert beyond_baseline(baseline, [at(tmp_path / "a.py", 3, function="other")])


def test_paths_are_relative_to_the_baseline(tmp_path, baseline):
    write_baseline(baseline, [at(tmp_path / "pkg" / "a.py", 3)])
    assert json.loads(open(baseline).read())["findings"][0]["file"] == "pkg/a.py"


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b"[1]", b"\xff", b'{"strop": "baseline", "version": 9, "findings": []}']
)
def test_what_is_no_baseline_is_refused(baseline, content):
    if content is not None:
        with open(baseline, "wb") as file:
            file.write(content)
    with pytest.raises(Problem) as raised:
        beyond_baseline(baseline, [])
    assert raised.value.code == "STR008"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "t@example.org")

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a.py").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "ü b.py").write_text("one\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    return tmp_path


def test_only_changed_lines_and_new_files(repository):
    (repository / "a.py").write_text("one\nTWO\nthree\nnew\nfour\n")
    (repository / "ü b.py").write_text("ONE\n")
    (repository / "c.py").write_text("one\n")
    lines = changed_lines("HEAD", str(repository))
    assert lines == {str(repository / "a.py"): {2, 4}, str(repository / "ü b.py"): {1}, str(repository / "c.py"): None}
    found = [at(repository / "a.py", n) for n in (1, 2, 3, 4)] + [at(repository / "c.py", 1)]
    kept = [(Path(f.place.file).name, f.place.line) for f in on_changed_lines(found, "HEAD", str(repository))]
    assert kept == [("a.py", 2), ("a.py", 4), ("c.py", 1)]


@pytest.mark.parametrize("revision", ["nowhere", "--output=x"])
def test_unknown_revisions_are_refused(repository, revision):
    with pytest.raises(Problem) as raised:
        changed_lines(revision, str(repository))
    assert raised.value.code == "STR008"


def test_a_folder_outside_any_repository_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(Problem):
        changed_lines("HEAD", str(tmp_path))
