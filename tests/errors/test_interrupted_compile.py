"""Ctrl-C at any moment of a compilation: no broken cache entry, no broken state, the next compilation works."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

import strop
from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.schedule.planners import PIPELINE

X = torch.ones(2, 6)
STEPS = ("capture", *(step.name for step in PIPELINE), "emit", "compile", "load")
#: a shell that starts the tests in the background has them ignore Ctrl-C, and so would their children
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from strop.cli import main
main()
"""


@pytest.mark.parametrize("where", STEPS)
def test_in_every_step(where, tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    model = nn.Sequential(nn.Linear(6, 5), nn.Sigmoid()).eval()

    def interrupt(step):
        if step == where:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        strop.Session(model, (X,), journal=Journal(on_step=interrupt), threads=1)
    left = [path.suffix for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ([".bin"] if where == "load" else [])
    fast = strop.compile(model, (X,), threads=1)
    with torch.no_grad():
        torch.testing.assert_close(fast(X), model(X))


def test_while_the_entry_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    model = nn.Sequential(nn.Linear(6, 5), nn.Sigmoid()).eval()

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("strop.core.cache.Path.replace", interrupt)
        strop.compile(model, (X,), threads=1)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    strop.compile(model, (X,), threads=1)
    assert len(Cache().entries()) == 1


def test_a_variant_that_was_interrupted_is_compiled_at_the_next_call(monkeypatch):
    model = nn.Linear(6, 5).eval()
    fast = strop.compile(model, (X,), threads=1, cache=False)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with torch.no_grad():
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("strop.codegen.object_code.compile_object", interrupt)
            fast(torch.ones(4, 6))
        torch.testing.assert_close(fast(torch.ones(4, 6)), model(torch.ones(4, 6)))
    assert "eager" not in fast.journal.explain()


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_on_the_command_line(tmp_path):
    (tmp_path / "net.py").write_text(
        textwrap.dedent("""
        import torch
        from strop.driver import pipeline
        real = pipeline.planned
        def slow(*args, **kwargs):
            import time
            print("planning", flush=True)
            time.sleep(30)
            return real(*args, **kwargs)
        pipeline.planned = slow
        def make():
            return torch.nn.Linear(4, 4).eval(), (torch.ones(2, 4),)
        """)
    )
    command = [sys.executable, "-c", INTERRUPTIBLE, "compile", "net.py:make"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "STROP_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert running.stdout.readline() == "planning\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130 and err == "interrupted\n" and out == ""
    assert not (tmp_path / "cache").exists() or Cache(tmp_path / "cache").entries() == []
