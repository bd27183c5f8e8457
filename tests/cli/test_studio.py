"""`strop studio` and `strop report` as a person starts them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

import strop
from strop import cli
from strop.studio.serve import listen

#: a shell that starts the tests in the background has them ignore Ctrl-C, and so would their children
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from strop.cli import main
main()
"""
FACTORY = """
import torch
from torch import nn


def net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU()), (torch.randn(2, 8),)
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "small.py").write_text(FACTORY)
    return f"{tmp_path}/small.py:net"


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line in this process: its exit code, what it printed, and what it complained of."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["strop", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as left:
            code = left.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_report_is_written_and_told(run, model, tmp_path):
    code, out, err = run("report", model, "-o", tmp_path / "report.html", "--json", "--threads", 1)
    assert code == 0, err
    assert json.loads(out)["bytes"] == (tmp_path / "report.html").stat().st_size < 1_000_000


def test_a_studio_serves_its_page_until_it_is_interrupted(model):
    command = [sys.executable, "-u", "-c", INTERRUPTIBLE, "studio", model, "--no-browser", "--threads", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", running.stdout.readline())[0]
        with urllib.request.urlopen(address, timeout=20) as page:
            assert b"Strop studio" in page.read()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=20) == 0
        assert "Traceback" not in running.stderr.read()
    finally:
        running.kill()
        running.communicate()


def test_a_second_studio_takes_another_port():
    with listen() as first, listen() as second:
        ports = {one.getsockname()[1] for one in (first, second)}
        assert len(ports) == 2
        with pytest.raises(strop.Problem, match="cannot be used"):
            listen(first.getsockname()[1])


@pytest.mark.parametrize(("arguments", "said"), [
    (["report", "resnet18", "-o", "/no/such/folder/report.html"], "there is no folder"),
    (["studio", "no_such_network"], "no_such_network"),
    (["studio", "missing.json"], "cannot be read"),
    (["studio", "saved.json", "--training"], "does not go with a saved session"),
    (["studio", "resnet18", "--trust"], "goes with a saved session"),
])  # fmt: skip
def test_a_wrong_call_is_told_with_a_reason(run, arguments, said):
    code, _, err = run(*arguments)
    assert code == 2 and said in err and "Traceback" not in err


def test_a_saved_session_that_names_code_needs_trust(run, model, tmp_path):
    saved = tmp_path / "mine.json"
    strop.Session.of(model, options=strop.Options(threads=1)).save(saved)
    code, _, err = run("report", saved, "-o", tmp_path / "r.html", "--no-measure")
    assert code == 2 and "--trust" in err
    code, _, err = run("report", saved, "-o", tmp_path / "r.html", "--no-measure", "--trust")
    assert code == 0, err
