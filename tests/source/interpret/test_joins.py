"""How many alternatives a value keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.interpret.entries import ancestor_names
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.joins import MAX_ATOMS, join, join_all
from strop.source.interpret.values import NONE, UNKNOWN, Value, const, tensor, tuple_of, unknown
from strop.source.project.declarations import Class
from strop.source.project.modules import Project


def _joined(cls: Class | str) -> Value:
    return join_all([Object("instance", cls, None, line).value for line in range(2 * MAX_ATOMS)])


def test_many_layers_of_a_library_are_told_apart() -> None:
    assert len(_joined("torch.nn.ReLU").atoms) == 2 * MAX_ATOMS
    assert not _joined("torch.nn.ReLU").is_unknown()


def test_objects_of_the_project_are_told_apart_as_long_as_their_methods_can_be_run_for_each() -> None:
    joined = _joined(Class.__new__(Class))
    assert len(joined.atoms) <= MAX_ATOMS + 1 and joined.is_unknown()


def test_what_was_left_out_changes_nothing_when_it_comes_again() -> None:
    """It did, back and forth, and functions that took such values were run until they were given up."""
    objects = [Object("instance", Class.__new__(Class), None, line).value for line in range(MAX_ATOMS + 4)]
    numbers = [const(number) for number in range(8)]
    tensors = [tensor("torch", "tensor", dtype) for dtype in ("float16", "float32", "float64", "int8", "int16")]
    tuples = [tuple_of((one, NONE)) for one in (*objects[:2], *tensors[:2])]
    unknowns = [unknown("one"), unknown("two"), UNKNOWN, unknown("three")]
    parts = [*unknowns[:2], *tensors, *numbers, *tuples, *objects, *unknowns[2:]]
    for count in range(len(parts)):
        whole = join_all(parts[:count])
        assert all(join(whole, part) is whole for part in parts[:count])


def test_objects_that_hold_each_other_are_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package in which everything may hold everything took two thirds of its scan for this question."""
    objects = [Object("list", "builtins.list", None, line) for line in range(12)]
    whole = join_all([obj.value for obj in objects])
    for obj in objects:
        obj.wild = whole
    looked: list[object] = []
    contents = Object.contents
    monkeypatch.setattr(Object, "contents", lambda self: (looked.append(self), contents(self))[1])
    assert not whole.holds_tensor()
    assert len(looked) == len(objects)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_tensor_counts_as_deep_down_as_is_asked_for(depth: int) -> None:
    value = tensor("torch")
    for line in range(depth):
        obj = Object("list", "builtins.list", None, line)
        obj.wild = value if line % 2 else tuple_of((value,))
        value = obj.value if line % 2 else join_all([obj.value, tuple_of((NONE, obj.value))])
    assert value.holds_tensor(2 * depth) and not value.holds_tensor(depth - 1)


def test_a_base_that_may_be_any_registered_class_is_followed_once(tmp_path: Path) -> None:
    """A registry whose decorator gives back what it may hold: 400 lines a second, since every path was followed."""
    layers = "".join(f"@register\nclass C{i}({f'C{i - 1}' if i else 'nn.Module'}):\n  pass\n" for i in range(14))
    head = "from torch import nn\nknown = {}\ndef register(cls):\n  known[cls.__name__] = cls\n  return known[NAME]\n"
    (tmp_path / "model.py").write_text(f"{head}{layers}", encoding="utf-8")
    program = Program(Project([str(tmp_path / "model.py")], [str(tmp_path)]))
    program.run()
    last = list(program.bases)[-1]
    names = ancestor_names(program, last)
    assert len(names) == len(set(names)) and {"C0", "C12", "torch.nn.Module"} <= set(names)
