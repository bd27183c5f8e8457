"""The commands on real, small models: nothing stands in for the compiler."""

import json
import os
import pty
import subprocess
import sys
import warnings

import pytest

from strop import cli

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Linear(8, 40)

    def forward(self, x):
        y = torch.relu(self.conv(x)).mean((2, 3))
        return torch.sort(self.head(y)).values

def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(1, 3, 12, 12),)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small_net.py"
    path.write_text(MODEL)
    return f"{path}:make"


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["strop", *arguments])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        assert not left.value.code, printed.err
        return printed.out

    return call


def test_compile_prints_what_was_made_and_what_runs_in_the_library(run, model):
    out = run("compile", model, "--threads", "1")
    assert "make" in out and "arena" in out and "packed" in out and "compile" in out
    assert "aten.sort" in out


def test_compile_explains_a_program_that_comes_from_the_cache(run, model):
    run("compile", model, "--threads", "1")
    out = run("compile", model, "--threads", "1", "--explain")
    assert "hit" in out and "look inside" in out and "fusion" in out and "small_net" not in out.splitlines()[0]


def test_compile_shows_nests_under_the_names_of_the_model(run, model):
    out = run("compile", model, "--threads", "1", "--nests")
    assert "conv.weight" in out and "head.linear" in out and "small_net.py:" in out
    assert "runs when parameters change" in out


def test_compile_profiles(run, model):
    out = run("compile", model, "--threads", "1", "--profile", "--rounds", "2")
    assert "GFLOP/s" in out and "head.linear" in out and "library: aten.sort" in out and "one uninterrupted call" in out


def test_compile_json_holds_everything(run, model):
    told = json.loads(run("compile", model, "--threads", "1", "--json", "--profile", "--rounds", "2", "--nests"))
    assert told["model"] == "make" and told["summary"]["threads"] == 1
    assert told["summary"]["library_nodes"] == {"aten.sort.default": 1}
    assert {step["name"] for step in told["profile"]["steps"]} >= {"head.linear"}
    assert "nest head.linear" in told["nests"] and told["events"]


def test_bench_measures_strop_beside_eager(run, model, tmp_path):
    out = tmp_path / "bench.json"
    run("bench", model, "--contenders", "eager,strop", "--rounds", "3", "--seconds", "1", "-o", str(out), "--quiet")
    rows = json.loads(out.read_text())["results"]
    assert {row["contender"] for row in rows} == {"eager", "strop"}
    assert all(row["median_ms"] > 0 and row["max_rel_error"] <= 1e-4 for row in rows)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_a_terminal_sees_what_is_being_done(model):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "strop", "compile", model, "--threads", "1", "--no-cache"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    out, _ = running.communicate(timeout=60)
    os.close(ours)
    assert running.returncode == 0 and b"arena" in out
    assert b"compiling make: " in shown
