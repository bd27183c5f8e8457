"""What is proposed for models that are trained and for models that are only run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from strop.source.fix import fixing
from strop.source.interpret.interpreter import Program
from strop.source.scan import Defaults, scan

HEAD = "import torch\nfrom torch import nn\n\n"
NET = """
class Net(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.first = nn.Linear(512, 512)
        self.second = nn.Linear(512, 512)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        for _ in range(8):
            h = self.dropout(torch.sin(self.first(x)) * 2 + 1)
            h = self.dropout(torch.cos(self.second(h)) * 3 - x)
            x = self.dropout(h / (1 + h.abs()))
        return x

"""
TRAIN = """
opt = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
for _ in range(100):
    loss = net(torch.ones(2, 512)).sum()
    loss.backward()
    opt.step()
"""
SERVE = """
net.eval()
for _ in range(100):
    with torch.no_grad():
        net(torch.ones(2, 512))
"""


@dataclass
class WithStrop(Defaults):
    with_strop: bool = True


def _compiled(tmp_path: Path, text: str, with_strop: bool = False) -> list[str]:
    """The lines that compile something, after everything proposed was written."""
    file = tmp_path / "script.py"
    file.write_text(HEAD + text, encoding="utf-8")
    options = WithStrop() if with_strop else None
    fixing.fix(lambda: scan([str(file)], options), unsafe=True).plan.write()
    return [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if "compile" in line]


def test_dropout_makes_a_compiled_training_step_slower(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"{NET}net = Net(0.1)\n{TRAIN}") == []


def test_dropout_of_nothing_costs_nothing(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"{NET}net = Net(0.0)\n{TRAIN}") == ["net.compile()"]


def test_dropout_is_no_matter_at_inference(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"{NET}net = Net(0.1)\n{SERVE}") == ["net.compile()"]


def test_with_strop_a_model_that_is_only_run_gets_its_backend(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"{NET}net = Net(0.1)\n{SERVE}", with_strop=True) == ['net.compile(backend="strop")']


def test_with_strop_a_model_that_is_trained_gets_its_backend(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"{NET}net = Net(0.1)\n{TRAIN}", with_strop=True) == ['net.compile(backend="strop")']


def test_convolutions_are_trained_by_strop_and_gain_nothing_from_pytorch(tmp_path: Path) -> None:
    layers = "nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), " * 4
    text = f"net = nn.Sequential({layers})\n{TRAIN.replace('ones(2, 512)', 'ones(2, 64, 32, 32)')}"
    assert _compiled(tmp_path, text, with_strop=True) == ['net.compile(backend="strop")']
    assert _compiled(tmp_path, text) == []


def test_recurrent_layers_gain_nothing_in_training(tmp_path: Path) -> None:
    text = f"net = nn.LSTM(64, 64, 4)\n{TRAIN.replace('ones(2, 512)', 'ones(9, 2, 64)').replace('.sum()', '[0].sum()')}"
    assert _compiled(tmp_path, text, with_strop=True) == []


def test_a_model_of_a_registry_is_offered_to_strop_where_it_is_only_run(tmp_path: Path) -> None:
    served = f"import timm\nnet = timm.create_model('resnet18')\n{SERVE}"
    assert _compiled(tmp_path, served, with_strop=True) == ['net.compile(backend="strop")']


def test_pytorch_gains_too_little_on_models_of_registries(tmp_path: Path) -> None:
    assert _compiled(tmp_path, f"import timm\nnet = timm.create_model('resnet18')\n{SERVE}") == []


def test_a_model_of_a_registry_that_is_trained_is_compiled_with_strop_only(tmp_path: Path) -> None:
    trained = f"import timm\nnet = timm.create_model('resnet18')\n{TRAIN}"
    assert _compiled(tmp_path, trained, with_strop=True) == ['net.compile(backend="strop")']
    assert _compiled(tmp_path, trained) == []


def test_a_model_of_a_registry_is_found_in_the_function_that_runs_it(tmp_path: Path) -> None:
    text = (
        "from transformers import BertConfig, BertModel\n\n"
        "def embed(model, batches):\n    with torch.no_grad():\n        return [model(batch) for batch in batches]\n\n"
        "model = BertModel(BertConfig())\nembed(model, [torch.ones(1, 8)])\n"
    )
    assert _compiled(tmp_path, text, with_strop=True) == ['model.compile(backend="strop")']


@pytest.mark.parametrize("step", [TRAIN, SERVE], ids=["trained", "run"])
def test_a_model_of_a_package_that_cannot_be_followed_to_the_end_is_assumed_to_be_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    package = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages" / "options"
    package.mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    layers = f"import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n{NET}"
    (package / "__init__.py").write_text(layers, encoding="utf-8")
    text = f"from options import Net\n\nnet = Net(0.1)\n{step}"
    monkeypatch.setattr(Program, "gave_up", lambda program, id: "too many options" if "forward" in id else "")
    assert _compiled(tmp_path, text, with_strop=True) == ['net.compile(backend="strop")']
    assert _compiled(tmp_path, text) == []
