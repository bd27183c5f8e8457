"""How many alternatives a value keeps."""

from __future__ import annotations

from strop.source.interpret.heap import Object
from strop.source.interpret.joins import MAX_ATOMS, join_all
from strop.source.interpret.values import Value
from strop.source.project.declarations import Class


def _joined(cls: Class | str) -> Value:
    return join_all([Object("instance", cls, None, line).value for line in range(2 * MAX_ATOMS)])


def test_many_layers_of_a_library_are_told_apart() -> None:
    assert len(_joined("torch.nn.ReLU").atoms) == 2 * MAX_ATOMS
    assert not _joined("torch.nn.ReLU").is_unknown()


def test_objects_of_the_project_are_told_apart_as_long_as_their_methods_can_be_run_for_each() -> None:
    joined = _joined(Class.__new__(Class))
    assert len(joined.atoms) <= MAX_ATOMS + 1 and joined.is_unknown()
