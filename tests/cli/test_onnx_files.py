"""ONNX files on the command line."""

import json

import onnx
import pytest
from typer.testing import CliRunner

from onnx_models import mlp
from strop import Problem, cli
from strop.runtime.onnx.spec import onnx_file, with_shapes


@pytest.fixture
def path(tmp_path):
    onnx.save(mlp("batch"), tmp_path / "mlp.onnx")
    return str(tmp_path / "mlp.onnx")


def test_a_file_is_compiled(path):
    result = CliRunner().invoke(cli.app, ["compile", path, "--shape", "x=4,8", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["model"] == "mlp" and told["summary"]["library_nodes"] == {}


def test_an_open_shape_is_asked_for(path):
    result = CliRunner().invoke(cli.app, ["compile", path])
    assert isinstance(result.exception, Problem) and result.exception.code == "STR102"
    assert "--shape x=" in result.exception.help


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("net.onnx", ("net.onnx", {})),
        ("a/net.onnx[x=1,3;y=2]", ("a/net.onnx", {"x": (1, 3), "y": (2,)})),
        ("net.onnx[scalar=]", ("net.onnx", {"scalar": ()})),
        ("net.onnx[a=b=1]", ("net.onnx", {"a=b": (1,)})),
        ("net.py:factory", ("", {})),
        ("resnet18", ("", {})),
    ],
)
def test_how_a_file_and_its_shapes_are_written(spec, expected):
    assert onnx_file(spec) == expected


@pytest.mark.parametrize("shape", ["x", "x=a", "x=1,-3", "=3"])
def test_shapes_that_cannot_be_read(shape):
    with pytest.raises(Problem) as caught:
        onnx_file(with_shapes("net.onnx", [shape]))
    assert caught.value.code == "STR001"


def test_shapes_go_with_onnx_files_only():
    with pytest.raises(Problem):
        with_shapes("resnet18", ["x=1"])
