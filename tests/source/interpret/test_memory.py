"""Statements that would do what they did in the last run are not run again; what is found is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.facts import Scan
from strop.source.interpret import statements
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Tuple
from strop.source.project.modules import Project
from strop.source.scan import scan

ROOT = Path(__file__).resolve().parents[3]
CODE = sorted([*(ROOT / "examples" / "loops").glob("*.py"), *(ROOT / "benchmarks" / "projects").glob("*/*.py")])

GROWS_LATE = """
class Box:
    def __init__(self):
        self.items = []
        self.shape = None

    def read(self, n):
        first = self.shape
        for item in self.items:
            n = n + item
        return n, first

def fill(box, value):
    box.items.append(value)
    box.shape = (value, value)

box = Box()
box.read(1)
fill(box, 2.5)
fill(box, "a")
"""

FORWARDS_TO_ITSELF = """
from torch import nn

class Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.forward = module

def wrap(module, deep):
    return Wrapper(wrap(module, deep)) if deep else Wrapper(Wrapper(module))

def convert(module):
    for child in module.children():
        module.forward = wrap(child, 3)
    return module(1)

model = convert(Wrapper(wrap(nn.Linear(2, 2), 2)))
model.forward = model
convert(model)
"""


HOLD_EACH_OTHER = """
from torch import nn

class Stack(nn.Sequential):
    def __init__(self, *layers):
        super().__init__(*layers)

a = b = c = d = Stack(nn.ReLU())
for _ in range(3):
    a = Stack(a, b, c, d)
    b = Stack(a, b, c, d)
    c = Stack(a, b, c, d)
    d = Stack(a, b, c, d)

def run(x):
    return a(x)

run(1)
"""


def _told(scan: Scan) -> object:
    return scan.functions, scan.findings


@pytest.mark.parametrize("file", CODE, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_what_is_found_does_not_depend_on_what_is_remembered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembering = _told(scan([str(file)]))
    monkeypatch.setattr(statements.Body, "_remembered", lambda self, statement, handler: handler(self, statement))
    assert _told(scan([str(file)])) == remembering


def test_a_statement_is_run_again_when_something_that_it_read_has_grown(tmp_path: Path) -> None:
    program = _run(tmp_path, GROWS_LATE)
    (reads,) = [code for id, code in program.functions.items() if id.endswith("Box.read")]
    (context,) = reads.nodes.values()
    (result,) = [atom for atom in context.result.atoms if isinstance(atom, Tuple)]
    first, second = result.items
    assert {atom.describe() for atom in first.atoms} == {"1", "float", "str"}
    assert {inner.describe() for atom in second.atoms if isinstance(atom, Tuple) for inner in atom.items[0].atoms} == {
        "2.5",
        "'a'",
    }


@pytest.mark.parametrize("code", [FORWARDS_TO_ITSELF, HOLD_EACH_OTHER], ids=["forward", "layers"])
def test_modules_that_lead_to_themselves_are_followed_to_the_end(code: str, tmp_path: Path) -> None:
    program = _run(tmp_path, code)
    assert not [id for id in program.functions if program.gave_up(id)]


def _run(folder: Path, code: str) -> Program:
    (folder / "code.py").write_text(code)
    program = Program(Project([str(folder / "code.py")], [str(folder)]))
    program.run()
    return program
