"""Models that are offered to be compiled where they are made."""

from __future__ import annotations

from pathlib import Path

from strop.source.fix import fixing
from strop.source.scan import scan

_LOOP = """
def train(x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    return loss.item()


for _ in range(100):
    train(torch.ones(2, 8), torch.ones(2, 1))
"""
#: layers that a graph fuses
_ACTIVATIONS = ", ".join(["nn.LayerNorm(8), nn.Mish(), nn.Softsign(), nn.Tanhshrink()"] * 3)


def _fixed(tmp_path: Path, made: str, rest: str = _LOOP) -> str:
    file = tmp_path / "train.py"
    head = "import torch\nfrom torch import nn\n\n"
    file.write_text(f"{head}{made}\nopt = torch.optim.Adam(net.parameters())\n{rest}", encoding="utf-8")
    fixing.fix(lambda: scan([str(tmp_path)]), unsafe=True).plan.write()
    return file.read_text(encoding="utf-8").removeprefix(head)


def test_a_model_of_library_layers_is_compiled_after_its_line(tmp_path: Path) -> None:
    made = f"net = nn.Sequential({_ACTIVATIONS})  # deep"
    assert _fixed(tmp_path, made).startswith(f"{made}\nnet.compile()\n")


def test_a_display_of_many_layers_is_followed(tmp_path: Path) -> None:
    made = f"net = nn.Sequential({_ACTIVATIONS}, {_ACTIVATIONS}, {_ACTIVATIONS})"
    assert made.count("nn.") > 30
    assert _fixed(tmp_path, made).startswith(f"{made}\nnet.compile()\n")


def test_a_recurrent_layer_behind_many_others_is_seen(tmp_path: Path) -> None:
    made = f"net = nn.Sequential({_ACTIVATIONS}, {_ACTIVATIONS}, nn.LSTM(8, 8))"
    assert ".compile()" not in _fixed(tmp_path, made)


def test_it_is_offered_and_never_called_safe(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    made = f"net = nn.Sequential({_ACTIVATIONS})\nopt = torch.optim.Adam(net.parameters())\n"
    file.write_text(f"import torch\nfrom torch import nn\n\n{made}{_LOOP}", encoding="utf-8")
    offered = [finding for finding in scan([str(file)]).findings if "where it is made" in finding.message]
    assert [(finding.code, finding.safety, finding.fixable) for finding in offered] == [("STR150", "safe-if", True)]


def test_fixing_twice_changes_nothing(tmp_path: Path) -> None:
    once = _fixed(tmp_path, f"net = nn.Sequential({_ACTIVATIONS})")
    assert "net.compile()" in once
    fixing.fix(lambda: scan([str(tmp_path)]), unsafe=True).plan.write()
    assert (tmp_path / "train.py").read_text(encoding="utf-8").endswith(once)


def test_recurrent_layers_are_left_alone(tmp_path: Path) -> None:
    assert "compile" not in _fixed(tmp_path, f"net = nn.Sequential({_ACTIVATIONS}, nn.LSTM(8, 8))")


def test_a_model_that_is_compiled_already_is_left_alone(tmp_path: Path) -> None:
    made = f"net = nn.Sequential({_ACTIVATIONS})\nfast = torch.compile(net)"
    assert "net.compile()" not in _fixed(tmp_path, made)


def test_a_model_that_a_loop_makes_is_left_alone(tmp_path: Path) -> None:
    made = f"for width in (8, 16):\n    net = nn.Sequential({_ACTIVATIONS})"
    assert "compile" not in _fixed(tmp_path, made)


def test_a_part_of_another_model_is_compiled_with_it(tmp_path: Path) -> None:
    made = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.body = nn.Sequential({_ACTIVATIONS})\n\n"
        "    def forward(self, x):\n        return self.body(x)\n\n\nnet = Net()"
    )
    fixed = _fixed(tmp_path, made)
    assert "body.compile()" not in fixed and "net = Net()\nnet.compile()\n" in fixed


def test_a_small_model_of_plain_layers_is_left_alone(tmp_path: Path) -> None:
    assert "compile" not in _fixed(tmp_path, "net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))")


_NET = """class Net(nn.Module):
    def forward(self, x):
        for _ in range(4):
            x = torch.sin(x * 2) + torch.cos(x) / (1 + x.abs())
        return x

"""


def test_a_model_that_is_compiled_as_an_object_is_not_decorated_as_well(tmp_path: Path) -> None:
    rest = "for _ in range(100):\n    loss = net(torch.ones(2, 8)).sum()\n    loss.backward()\n    opt.step()\n"
    fixed = _fixed(tmp_path, f"{_NET}net = Net()", rest)
    assert "net = Net()\nnet.compile()\n" in fixed and "@torch.compile" not in fixed


def _offered(tmp_path: Path, package: str) -> list[tuple[str, tuple[str, ...]]]:
    """What is offered for a model of an installed package, with its assumptions."""
    packages = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    (packages / "shapes.py").write_text(f"import torch\nfrom torch import nn\n{package}", encoding="utf-8")
    loop = "for _ in range(100):\n    net(torch.ones(2, 8)).sum().backward()\n"
    file = tmp_path / "train.py"
    file.write_text(f"import torch\nfrom shapes import Net\n\nnet = Net()\n{loop}", encoding="utf-8")
    return [(f.message, f.assumptions) for f in scan([str(file)]).findings if f.code == "STR150"]


def test_a_model_of_an_installed_package_is_compiled_where_it_is_made(tmp_path: Path) -> None:
    [(message, assumptions)] = _offered(tmp_path, _NET)
    assert "`net.compile()`" in message
    assert assumptions == ("it runs often enough to pay for compiling it",)


def test_what_an_installed_package_calls_unseen_is_an_assumption(tmp_path: Path) -> None:
    net = _NET.replace("return x", "return faster(x)")
    [(_, assumptions)] = _offered(tmp_path, f"from accelerated import faster\n\n{net}")
    assert "`accelerated.faster` can be traced" in assumptions


def test_a_class_with_options_by_the_dozen_is_left_alone(tmp_path: Path) -> None:
    calls = "\n".join(f"        x = x + option_{i}(x)" for i in range(12))
    names = ", ".join(f"option_{i}" for i in range(12))
    net = _NET.replace("        return x", f"{calls}\n        return x")
    assert _offered(tmp_path, f"from accelerated import {names}\n\n{net}") == []
