"""An edited copy of a project, so that a fix can be tried without touching the original."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from strop.core.problem import Problem
from strop.source.fix import fixing
from strop.source.project.files import EXCLUDED
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project
from strop.verify.as_graphs import Job

_MOST_BYTES = 500 * 2**20


@contextmanager
def edited_copy(job: Job, *, unsafe: bool) -> Iterator[Job]:
    """The same job in a temporary copy of its project, with the edits of `strop fix` applied there."""
    root = _root(job)
    with tempfile.TemporaryDirectory(prefix="strop-copy-") as folder:
        copy = Path(folder).resolve() / (root.name or "project")
        _check_size(root)
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*EXCLUDED), symlinks=True)
        settings = Settings.of([str(copy)])
        fixing.fix(lambda: scan_project([str(copy)], settings), unsafe=unsafe).plan.write()
        yield replace(
            job,
            file=_moved(job.file, root, copy) if job.file else "",
            path=tuple(_moved(path, root, copy) for path in job.path),
        )


def _root(job: Job) -> Path:
    """The folder to copy: where pyproject.toml or .git is, at most the folder that modules are found from."""
    start = Path(job.path[0] if job.path else job.file).resolve()
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file() or (folder / ".git").exists():
            return folder
    return start


def _check_size(root: Path) -> None:
    total = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in EXCLUDED]
        for name in files:
            total += (Path(folder) / name).lstat().st_size
            if total > _MOST_BYTES:
                help = "run `strop fix --write` and then `strop verify` without --fix"
                raise Problem("STR603", f"{root} is too large to copy ({_MOST_BYTES >> 20} MB at most)", help=help)


def _moved(path: str, root: Path, copy: Path) -> str:
    real = Path(path).resolve()
    return str(copy / real.relative_to(root)) if real.is_relative_to(root) else str(real)
