"""Functions that are run again evaluate only what may give something else, and come to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.interpret import activation
from strop.source.interpret.expressions import Expressions
from strop.source.interpret.interpreter import Program
from strop.source.project.modules import Project
from strop.source.report import as_json
from strop.source.scan_project import scan_project

ROOT = Path(__file__).parents[3]
LAYERS = 30


def _scanned(folder: Path) -> str:
    return as_json(scan_project([str(folder)]))


@pytest.mark.parametrize("part", ["benchmarks/projects", "examples", "src/strop/source/report"])
def test_a_scan_says_the_same_as_without(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = _scanned(ROOT / part)
    monkeypatch.setattr(activation, "names_to_compare", lambda expression: None)
    assert _scanned(ROOT / part) == kept


def _calls_evaluated(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    done: list[object] = []
    evaluate = Expressions.call_expression

    def counted(self: Expressions, node: object) -> object:
        done.append(node)
        return evaluate(self, node)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setitem(Expressions.evaluate.__globals__["_EXPRESSIONS"], activation.ast.Call, counted)
        scan_project([str(tmp_path)])
    return len(done)


def test_what_reads_the_same_is_not_evaluated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scale` is set after `f` has run: `f` is run again for one line of many."""
    lines = "".join(f"  y = torch.relu(x + {i})\n" for i in range(LAYERS))
    text = f"import torch\nscale = []\ndef f(x):\n{lines}  return y * scale[0]\nf(torch.ones(3))\n"
    grows = "".join(f"scale.append({value})\n" for value in ("1", "2.0", "torch.ones(3)"))
    assert _calls_evaluated(tmp_path, text + grows, monkeypatch) < 1.5 * LAYERS


GROWING = {
    "a global": "kind = None\ndef f(x):\n  return g(kind, x)\nf(x)\nkind = x",
    "an attribute": "class A: pass\na = A()\ndef f(x):\n  return g(a.kind, x)\nf(x)\na.kind = x",
    "a list": "kinds = []\ndef f(x):\n  return g(kinds[0], x)\nf(x)\nkinds.append(x)",
    "a dict": "kinds = {}\ndef f(x):\n  return g(kinds['a'], x)\nf(x)\nkinds['a'] = x",
    "a result": "def late():\n  return kind\nkind = None\ndef f(x):\n  return g(late(), x)\nf(x)\nkind = x",
    "a parameter": "def f(k, x):\n  return g(k, x)\nf(None, x)\nf(x, x)",
    "a narrowed variable": "k = None\ndef f(x):\n  a = g(k, x) if k is not None else None\n  return a\nf(x)\nk = x",
}


@pytest.mark.parametrize("how", GROWING)
def test_what_grew_is_seen(how: str, tmp_path: Path) -> None:
    text = "import torch\nx = torch.ones(3)\ndef g(k, x):\n  return torch.add(k, x)\n" + GROWING[how]
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    scan = scan_project([str(tmp_path)])
    g = next(function for function in scan.functions if function.function == "g")
    assert g.tensor_parameter
    program = Program(Project([str(tmp_path / "model.py")], [str(tmp_path)]))
    program.run()
    assert program.parameters("model:g")["k"].value.is_tensor()
