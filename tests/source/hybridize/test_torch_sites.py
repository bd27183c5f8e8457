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
