"""Edits for PyTorch: they keep results, end the break that they are for, and are made once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from strop.source.facts import Finding
from strop.source.fix.edit import plan
from strop.source.scan import scan

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"


#: breaks are reported in what is compiled; the function itself stays as it is
COMPILED = "\n\nfast = torch.compile(f)\n"


def _write(folder: Path, text: str, name: str = "program.py") -> Path:
    file = folder / name
    file.write_text(HEAD + text + (COMPILED if "def f(" in text else ""), encoding="utf-8")
    return file


def _findings(file: Path, rule: str) -> list[Finding]:
    return [f for f in scan([str(file)]).findings if f.rule == rule]


def _fixed(file: Path, *rules: str) -> tuple[list[Finding], str]:
    found = [f for f in scan([str(file)]).findings if f.rule in rules and f.fixable]
    plan(found).write()
    return found, file.read_text(encoding="utf-8").removeprefix(HEAD)


def _load(file: Path) -> Any:
    name = f"fixed_{abs(hash(file))}_{file.stat().st_mtime_ns}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


BRANCHES = {
    "assigned": "def f(x: torch.Tensor):\n    if x.sum() > 0:\n        y = x * 2\n    else:\n        y = -x\n    return y + 1\n",
    "returned": "def f(x: torch.Tensor):\n    if x.sum() > 0:\n        return x * 2\n    return x - 1\n",
    "either": "def f(x: torch.Tensor):\n    if x.sum() > 1:\n        return x + 1\n    else:\n        return x * 3\n",
    "expression": "def f(x: torch.Tensor):\n    return x * 2 if x.max() > 0.5 else x\n",
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_on_a_tensor_becomes_where(name: str, tmp_path: Path) -> None:
    file = _write(tmp_path, BRANCHES[name])
    before = _load(file).f
    found, text = _fixed(file, "data-dependent-branch")
    after = _load(file).f
    assert [f.safety for f in found] == ["safe"] and "torch.where(" in text
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0]), torch.tensor([3, -1])):
        torch.testing.assert_close(after(x), before(x))
    torch._dynamo.reset()
    x = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(torch.compile(after, backend="eager", fullgraph=True)(x), before(x))


def test_sides_whose_shapes_may_differ_rest_on_an_assumption(tmp_path: Path) -> None:
    file = _write(tmp_path, "def f(x: torch.Tensor, y: torch.Tensor):\n    return x * 2 if x.max() > 0.5 else y\n")
    assert [f.safety for f in _findings(file, "data-dependent-branch")] == ["safe-if"]


def test_a_branch_with_effects_has_no_fix(tmp_path: Path) -> None:
    text = "seen = []\n\n\ndef f(x: torch.Tensor):\n    if x.sum() > 0:\n        y = g(x)\n    else:\n        y = x\n    return y\n"
    file = _write(tmp_path, text + "\n\ndef g(x):\n    seen.append(1)\n    return x * 2\n")
    found = _findings(file, "data-dependent-branch")
    assert found and not any(f.fixable for f in found)


def test_an_item_that_meets_tensors_is_detached(tmp_path: Path) -> None:
    file = _write(tmp_path, "def f(x: torch.Tensor):\n    s = x.max().item()\n    return x / s + x.min().item() * x\n")
    before = _load(file).f
    found, text = _fixed(file, "tensor-to-python")
    after = _load(file).f
    assert len(found) == 2 and ".item()" not in text and text.count(".detach()") == 2
    x = torch.randn(4, requires_grad=True)
    (a,), (b,) = (torch.autograd.grad(f(x).sum(), x) for f in (before, after))
    torch.testing.assert_close(after(x), before(x))
    torch.testing.assert_close(a, b)


def test_an_item_that_is_returned_stays(tmp_path: Path) -> None:
    file = _write(tmp_path, "def f(x: torch.Tensor):\n    y = x * 2\n    return y, y.sum().item()\n")
    assert not any(f.fixable for f in _findings(file, "tensor-to-python"))


def test_a_print_is_guarded(tmp_path: Path) -> None:
    file = _write(tmp_path, "def f(x: torch.Tensor):\n    y = x * 2\n    print(y.shape)\n    return y\n")
    found, text = _fixed(file, "print-or-log")
    assert [f.safety for f in found] == ["safe-if"]
    assert "    if not torch.compiler.is_compiling():\n        print(y.shape)\n" in text
    torch._dynamo.reset()
    torch.compile(_load(file).f, backend="eager", fullgraph=True)(torch.ones(2))
    assert not _findings(file, "print-or-log")


MODEL = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def part(self, x):
        y = self.a(x)
        return y * torch.sigmoid(y) + torch.tanh(y) * y.abs() - torch.sin(y) / (1 + y * y)

    def forward(self, x):
        return self.part(x) + self.part(x * 2)


@torch.no_grad()
def evaluate(model, x: torch.Tensor):
    return model(x).mean()


class Tools:
    @staticmethod
    def scale(x: torch.Tensor):
        x = x * 2 + torch.exp(-x * x) - torch.sin(x) * torch.cos(x)
        return x / (1 + x.abs()) + torch.tanh(x) * torch.sigmoid(x)


net = Net()
for _ in range(100):
    print(evaluate(net, torch.ones(1, 4)), Tools.scale(torch.ones(2)))
"""


def test_the_outermost_function_is_compiled_once(tmp_path: Path) -> None:
    file = _write(tmp_path, MODEL)
    found, text = _fixed(file, "compile")
    assert sorted(f.function for f in found) == ["Tools.scale", "evaluate"]
    assert "@torch.compile\n@torch.no_grad()\ndef evaluate" in text
    assert "    @staticmethod\n    @torch.compile\n    def scale" in text
    assert not _findings(file, "compile")


def test_numbers_that_differ_are_lifted_at_the_calls(tmp_path: Path) -> None:
    text = "@torch.compile\ndef step(x: torch.Tensor, rate):\n    return x * rate\n\n\nfor i in range(3):\n    step(torch.ones(2), i * 0.5)\n"
    file = _write(tmp_path, text)
    found, text = _fixed(file, "recompiles-per-value")
    assert found and "step(torch.ones(2), torch.tensor(i * 0.5))" in text


def test_compiling_in_a_loop_is_found(tmp_path: Path) -> None:
    text = "net = nn.Linear(2, 2)\n\n\ndef run(batches):\n    for x in batches:\n        torch.compile(net)(x)\n"
    assert [f.place.line for f in _findings(_write(tmp_path, text), "compiled-in-a-loop")] == [11]


def test_a_counter_in_forward_recompiles(tmp_path: Path) -> None:
    text = MODEL.replace("return self.part(x) +", "self.calls += 1\n        return self.part(x) +").replace(
        "self.a = nn", "self.calls = 0\n        self.a = nn"
    )
    functions = {f.function: f for f in scan([str(_write(tmp_path, text))]).functions}
    forward = functions["Net.forward"]
    assert forward.verdict == "keep" and forward.safety == "safe-if"
    assert [r.code for r in forward.reasons] == ["STR170"]


def test_a_break_says_how_the_function_gets_there(tmp_path: Path) -> None:
    text = "def g(x):\n    return x.sum().item()\n\n\ndef f(x: torch.Tensor):\n    return x / g(x)\n"
    functions = {f.function: f for f in scan([str(_write(tmp_path, text))]).functions}
    (reason,) = functions["f"].reasons
    assert (reason.code, reason.place.line, [p.line for p in reason.chain]) == ("STR156", 7, [11])
