"""A model that torch.export cannot take: the line and the reason are named, eager goes on, `partial` gets around it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

import strop


class Branching(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # the line
            return x + 1
        return x - 1


class ThroughNumpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() * 2)  # the line


class DataDependentShape(nn.Module):
    def forward(self, x):
        return x[x > 0] * 2  # the line


def _line_of(model):
    source = Path(__file__).read_text().splitlines()
    start = next(i for i, text in enumerate(source) if text.startswith(f"class {model.__name__}"))
    return next(i + 1 for i in range(start, len(source)) if source[i].endswith("# the line"))


@pytest.mark.parametrize(
    ("model", "code"), [(Branching, "STR106"), (ThroughNumpy, "STR101"), (DataDependentShape, "STR106")]
)
def test_the_line_is_named_and_nothing_else_is_printed(model, code, capfd):
    with pytest.raises(strop.Problem) as caught:
        strop.compile(model(), (torch.ones(4),))
    problem = caught.value
    assert problem.code == code and "partial=True" in problem.help
    assert problem.where.file == __file__ and problem.where.line == _line_of(model)
    assert capfd.readouterr() == ("", "")
    assert model()(torch.ones(4)) is not None


@pytest.mark.parametrize("model", [Branching, ThroughNumpy])
def test_the_advice_shows_the_line_to_rewrite(model):
    with pytest.raises(strop.Problem) as caught:
        strop.compile(model(), (torch.ones(4),))
    line = _line_of(model)
    text = Path(__file__).read_text().splitlines()[line - 1].strip()
    assert f"rewrite `{text}` ({__file__}:{line})" in caught.value.help


def _typed_in():
    names = {"nn": nn}
    exec("class Typed(nn.Module):\n  def forward(self, x):\n    return x if x.sum() > 0 else -x", names)
    return names["Typed"]()


class ReturnsAnObject(nn.Module):
    def forward(self, x):
        return object()


@pytest.mark.parametrize("make", [_typed_in, ReturnsAnObject])
def test_no_line_is_spoken_of_where_none_is_known(make):
    with pytest.raises(strop.Problem) as caught:
        strop.compile(make(), (torch.ones(4),))
    assert str(caught.value.where) == "" and "rewrite" not in caught.value.help and "partial" in caught.value.help


@pytest.mark.parametrize("model", [Branching, DataDependentShape])
def test_partial_compiles_what_can_be(model):
    fast = strop.compile(model(), (torch.ones(4),), partial=True)
    with torch.no_grad():
        for x in (torch.randn(4).abs(), -torch.randn(4).abs()):
            assert torch.equal(fast(x), model()(x))


def test_the_command_line_shows_the_source_line(tmp_path):
    (tmp_path / "branching.py").write_text(
        textwrap.dedent("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                if x.sum() > 0:
                    return x
                return -x
        def make():
            return Net(), (torch.ones(3),)
        """)
    )
    command = [sys.executable, "-m", "strop", "compile", "branching.py:make"]
    told = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 2 and told.stdout == ""
    assert told.stderr.startswith("error[STR106]") and "if x.sum() > 0:" in told.stderr
    assert "Traceback" not in told.stderr and "partial=True" in told.stderr
