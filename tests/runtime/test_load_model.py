import sys

import pytest

from strop.core.problem import Problem
from strop.runtime.load_model import load, load_factory

NET = """
import torch
from neighbour import WIDTH
NUMBER = 3
def make(): return torch.nn.Linear(WIDTH, 2), (torch.ones(1, WIDTH),)
def lone(): return torch.nn.Linear(WIDTH, 2), torch.ones(1, WIDTH)
def with_kwargs(): return torch.nn.Linear(WIDTH, 2), (), {"input": torch.ones(1, WIDTH)}
def only_module(): return torch.nn.Linear(WIDTH, 2)
def not_a_module(): return 3, (torch.ones(1),)
def odd_inputs(): return torch.nn.Linear(WIDTH, 2), {"x": 1}
def fails(): return 1 / 0
"""


@pytest.fixture
def net(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "neighbour.py").write_text("WIDTH = 4\n")
    (tmp_path / "some_net.py").write_text(NET)
    return tmp_path / "some_net.py"


def test_a_file_is_loaded_and_may_import_its_neighbours(net):
    model = load(f"{net}:make")
    assert model.name == "make" and model.module.in_features == 4 and model.inputs[0].shape == (1, 4)


def test_a_module_of_the_current_directory_is_found(net, monkeypatch):
    monkeypatch.chdir(net.parent)
    assert load("some_net:make").module.in_features == 4


def test_keyword_arguments_and_a_lone_tensor(net):
    assert list(load(f"{net}:with_kwargs").kwargs) == ["input"]
    assert len(load(f"{net}:lone").inputs) == 1


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("nothing", "STR002", "there is no `nothing`"),
        ("NUMBER", "STR002", "not a function"),
        ("only_module", "STR003", "returned Linear"),
        ("not_a_module", "STR003", "returned a int as its module"),
        ("odd_inputs", "STR003", "returned a dict as its inputs"),
        ("fails", "STR003", "raised ZeroDivisionError"),
    ],
)
def test_a_wrong_factory_is_named_with_the_reason(net, name, code, reason):
    with pytest.raises(Problem) as caught:
        load(f"{net}:{name}")
    assert caught.value.code == code and reason in caught.value.message


def test_the_failing_line_of_a_factory_is_shown(net):
    with pytest.raises(Problem) as caught:
        load(f"{net}:fails")
    assert "return 1 / 0" in caught.value.render()


@pytest.mark.parametrize("spec", [":make", "net.py", "net.py:", "dir/net:", "gone.py:make", "no.such.package:make"])
def test_a_wrong_spelling_tells_the_form(spec):
    with pytest.raises(Problem, match="STR002") as caught:
        load(spec)
    assert "package.module:factory" in caught.value.help


def test_a_file_that_does_not_parse_names_the_line(tmp_path):
    (tmp_path / "broken.py").write_text("x = 1\ndef make(:\n")
    with pytest.raises(Problem, match="SyntaxError") as caught:
        load(f"{tmp_path}/broken.py:make")
    assert str(caught.value.where).endswith("broken.py:2")


def test_a_missing_dependency_of_the_model_is_named(tmp_path):
    (tmp_path / "needy.py").write_text("import no_such_thing\n")
    with pytest.raises(Problem, match="needs the module `no_such_thing`"):
        load(f"{tmp_path}/needy.py:make")


def test_a_name_without_a_colon_is_one_of_the_zoo():
    assert load("dlrm").name == "dlrm"
    with pytest.raises(Problem, match="no network called `resnet19`"):
        load("resnet19")
    with pytest.raises(Problem, match="STR002"):
        load_factory("resnet18")
