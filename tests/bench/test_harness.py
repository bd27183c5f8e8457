"""The whole benchmark on networks of a few microseconds, and on networks that misbehave."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from strop.bench.harness import main
from strop.core.problem import Problem

#: a shell that starts the tests in the background has them ignore Ctrl-C, and so would their children
INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("strop.bench.harness", run_name="__main__", alter_sys=True)
"""
NETWORKS = """
import os, time
import torch
from torch import nn

def tiny():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (torch.randn(2, 8),)

def importing():
    import heavy_for_the_bench
    return tiny()

class Bad(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act
    def forward(self, x):
        self.act()
        return x

def _fail():
    raise RuntimeError("the network is broken")

def raises():
    return Bad(_fail), (torch.ones(1),)

def dies():
    return Bad(lambda: os._exit(7)), (torch.ones(1),)

def hangs():
    return Bad(lambda: time.sleep(600)), (torch.ones(1),)
"""


@pytest.fixture
def networks(tmp_path, monkeypatch):
    path = tmp_path / "networks.py"
    path.write_text(NETWORKS)
    monkeypatch.syspath_prepend(tmp_path)  # the children's, too
    return path


def measure(path, name, tmp_path, **options):
    out = tmp_path / "out.json"
    code = main([f"{path}:{name}"], json_path=str(out), rounds=2, quiet=True, **options)
    document = json.loads(out.read_text())
    return code, document, {row["contender"]: row for row in document["results"]}


def test_a_factory_of_ones_own(networks, tmp_path):
    code, document, rows = measure(networks, "tiny", tmp_path, contenders=["eager"])
    assert code == 0
    assert document["machine"]["peak_gflops"] > 1
    row = rows["eager"]
    assert 0 < row["min_ms"] <= row["median_ms"] < 100
    assert row["gflop"] == pytest.approx(2 * 2 * (8 * 16 + 16 * 4) / 1e9)
    assert row["peak_rss_mb"] >= row["steady_rss_mb"] > row["base_rss_mb"] * 0.8 > 40
    assert row["weights_mb"] == pytest.approx(4 * (8 * 16 + 16 + 16 * 4 + 4) / 2**20)
    assert -50 < row["beyond_mb"] < 50  # a network of a few microseconds takes nothing to speak of
    assert 0 < row["fraction_of_peak"] < 1


def test_what_the_code_of_a_model_imports_is_not_charged_to_it(networks, tmp_path):
    """The modules of `importing` hold 100 MB."""
    (tmp_path / "heavy_for_the_bench.py").write_text("import numpy\nheld = numpy.ones(100 * 2**17)\n")
    _, _, rows = measure(networks, "importing", tmp_path, contenders=["eager"])
    row = rows["eager"]
    assert row["steady_rss_mb"] > 100 and -50 < row["beyond_mb"] < 50


def test_a_network_that_raises_gets_its_reason(networks, tmp_path):
    _, _, rows = measure(networks, "raises", tmp_path, contenders=["eager", "inductor"])
    assert "the network is broken" in rows["eager"]["error"]
    assert "eager failed" in rows["inductor"]["error"]
    assert rows["eager"]["median_ms"] is None


def test_a_process_that_dies_does_not_take_the_run_with_it(networks, tmp_path):
    _, _, rows = measure(networks, "dies", tmp_path, contenders=["eager"])
    assert "exit code 7" in rows["eager"]["error"]


@pytest.mark.slow
def test_a_contender_that_hangs_is_given_up(networks, tmp_path):
    _, _, rows = measure(networks, "hangs", tmp_path, contenders=["eager"], timeout=6.0)
    assert "within 6 s" in rows["eager"]["error"]


def test_unknown_names_are_refused_before_anything_starts():
    with pytest.raises(Problem, match="onnxruntime"):
        main(["resnet18"], contenders=["onnx"])
    with pytest.raises(Problem, match="no network"):
        main(["alexnet"])


def test_interruption_leaves_no_process_behind(networks, tmp_path):
    command = [sys.executable, "-c", INTERRUPTIBLE, f"{networks}:hangs", "--contenders", "eager"]
    bench = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = _wait_for_children(bench.pid, "survey")
    os.kill(bench.pid, signal.SIGINT)
    assert bench.wait(timeout=20) == 130
    deadline = time.monotonic() + 10  # the kernel ends them once their parent is gone
    while any(_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(child) for child in children)


def _wait_for_children(parent, word):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found = [child for child in listed if word in Path(f"/proc/{child}/cmdline").read_text()]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("no child was started")


def _alive(process):
    try:
        return Path(f"/proc/{process}/status").read_text().split("State:")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.peers
def test_every_peer_runs_and_agrees(networks, tmp_path):
    peers = ["eager", "inductor", "inductor-max", "onnxruntime", "openvino"]
    _, _, rows = measure(networks, "tiny", tmp_path, contenders=peers)
    assert list(rows) == peers
    for name, row in rows.items():
        assert "error" not in row, (name, row)
        assert row["max_rel_error"] < 1e-5, name
