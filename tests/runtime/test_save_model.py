"""What cannot be put into a file is refused with its name; the command line writes, runs and unpacks files."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import strop
from frontend.beside import Calls
from strop.cli import app
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.runtime.save_model import save

ZOO = """
import torch
from torch import nn
def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh()).eval(), (torch.ones(2, 6),)
"""


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@pytest.mark.parametrize(
    ("model", "x", "why"),
    [
        (lambda: Calls(lambda x: torch.cummax(x, 0).values), torch.ones(3), "needs PyTorch for `aten.cummax.default`"),
        (lambda: Calls(torch.linalg.inv), torch.eye(3), "needs PyTorch for"),
        (lambda: Calls(lambda x: torch.rand(3) + x), torch.ones(3), "needs PyTorch for"),
        (lambda: nn.Linear(3, 3).bfloat16(), torch.ones(2, 3).bfloat16(), "input 0 has the type bf16"),
        (lambda: nn.Identity(), torch.ones(3), "output 0 is an input itself"),
        (Counts, torch.ones(3), "it writes to calls"),
        (lambda: Calls(lambda x: 3), torch.ones(3), "it returns no tensor"),
        (lambda: Calls(lambda x: x * 2), torch.ones(0, 3), "it has nothing to compute"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_into_a_file_is_refused_with_its_name(tmp_path, model, x, why):
    with pytest.raises(Problem, match="STR408") as caught:
        save(model().eval(), (x,), None, tmp_path / "m.strop", ["znver3"], Options(threads=1), Journal())
    assert why in caught.value.message
    assert not list(tmp_path.iterdir())


def test_equal_weights_of_several_targets_are_stored_once(tmp_path):
    model, x = nn.Sequential(nn.Linear(300, 400), nn.ReLU(), nn.Linear(400, 10)).eval(), torch.ones(4, 300)
    sizes = []
    for targets in (["znver3"], ["znver3", "haswell", "x86-64-v3"]):
        save(model, (x,), None, tmp_path / "m.strop", targets, Options(threads=1), Journal())
        sizes.append((tmp_path / "m.strop").stat().st_size)
    assert sizes[1] < 1.6 * sizes[0]


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, x = nn.Sequential(nn.Linear(30, 40), nn.GELU()).eval(), torch.ones(4, 30)
    for name in ("a", "b"):
        save(model, (x,), None, tmp_path / name, ["znver3"], Options(threads=2), Journal())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.fixture
def command(tmp_path, monkeypatch):
    (tmp_path / "zoo.py").write_text(ZOO)
    monkeypatch.chdir(tmp_path)

    def run(*arguments, fails=None):
        result = CliRunner().invoke(app, [*arguments])
        if fails is None:
            assert result.exit_code == 0, (result.output, result.exception)
        else:
            assert isinstance(result.exception, Problem) and fails in result.exception.message
        return result.output

    return run


def test_the_command_line_writes_runs_and_unpacks_a_file(command, tmp_path):
    command("compile", "zoo.py:small", "--target", "x86-64", "--target", "neoverse-n1", "--target", "aarch64", "-o", "m.strop",
            "--threads", "1")  # fmt: skip
    facts = json.loads(command("run", "m.strop", "--json"))
    assert set(facts["variants"]) == {"x86-64", "neoverse-n1", "aarch64"}
    np.save("x.npy", np.ones((2, 6), np.float32))
    command("run", "m.strop", "--input", "x.npy", "-o", "y.npy")
    wanted = np.load("y.npy")
    command("run", "m.strop", "-i", "input=x.npy", "-o", "z.npy", "--verify", "--quiet")
    assert wanted.shape == (2, 5) and np.array_equal(np.load("z.npy"), wanted)
    command("unpack", "m.strop", "code")
    assert {"strop.c", "strop.h", "strop_neoverse_n1_0.o"} <= {file.name for file in (tmp_path / "code").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["compile", "zoo.py:small", "--target", "znver3", "--target", "znver4"], "no effect without --output"),
        (["compile", "zoo.py:small", "-o", "m.strop", "--profile"], "--profile does not go with --output"),
        (["compile", "zoo.py:small", "-o", "nowhere/m.strop"], "there is no folder"),
        (["compile", "zoo.py:small", "-o", "m.strop", "--target", "z80"], "no description of `z80`"),
        (["run", "nowhere.strop"], "cannot be read"),
        (["run", "zoo.py"], "does not begin as one"),
        (["unpack", "zoo.py", "code"], "does not begin as one"),
    ],
)
def test_mistakes_on_the_command_line_are_told(command, arguments, why):
    command(*arguments, fails=why)


def test_a_wrong_input_file_is_told(command):
    command("compile", "zoo.py:small", "--target", "x86-64", "--target", "aarch64", "-o", "m.strop")
    command("run", "m.strop", "-i", "zoo.py", fails="--input zoo.py")
    np.save("x.npy", np.ones((2, 6)))
    command("run", "m.strop", "-i", "x.npy", fails="has type float64")
    command("run", "m.strop", "-i", "x.npy", "-i", "x.npy", fails="the model takes 1 inputs")
    assert strop.load("m.strop").inputs[0].name == "input"
