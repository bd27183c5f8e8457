"""Scripts that are told to start with variables for `malloc`."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.core.cache import Cache
from strop.source.facts import Finding
from strop.source.hybridize.allocator import ENVIRONMENT
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project

_BLOCKS = ", ".join(["nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()"] * 8)
_NET = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), {_BLOCKS})

    def forward(self, x):
        return self.body(x).mean((2, 3))

"""
_LOOP = """
for _ in range(100):
    loss = net(torch.ones(2, 3, 32, 32)).sum()
    loss.backward()
"""


def _told(tmp_path: Path, text: str, **settings: object) -> list[Finding]:
    (tmp_path / "train.py").write_text(f"import torch\nfrom torch import nn\n{text}", encoding="utf-8")
    found = scan_project([str(tmp_path)], Settings(**{"select": ("STR181",), **settings}))  # type: ignore[arg-type]
    return [finding for finding in found.findings if finding.code == "STR181"]


def test_a_script_that_trains_convolutions_is_told_how_to_start(tmp_path: Path) -> None:
    (told,) = _told(tmp_path, f"{_NET}net = Net()\n{_LOOP}")
    assert told.environment == ENVIRONMENT
    assert told.safety == "safe-if" and not told.fixable
    variables = " ".join(f"{name}={value}" for name, value in ENVIRONMENT)
    assert f"`{variables} python {tmp_path / 'train.py'}`" in told.message


def test_it_is_told_to_those_who_ask(tmp_path: Path) -> None:
    assert not _told(tmp_path, f"{_NET}net = Net()\n{_LOOP}", select=())


def test_it_is_told_once_for_a_script_with_two_networks(tmp_path: Path) -> None:
    loop = _LOOP.replace("net(", "first(") + _LOOP.replace("net(", "second(")
    assert len(_told(tmp_path, f"{_NET}first = Net()\nsecond = Net()\n{loop}")) == 1


def test_networks_of_a_registry_are_known_by_their_family(tmp_path: Path) -> None:
    run = "for x in [torch.ones(8, 3, 96, 96)] * 100:\n    net(x).sum().backward()\n"
    made = "from torchvision.models import {0}\nnet = {0}(weights=None)\n"
    assert _told(tmp_path, made.format("mobilenet_v3_small") + run)
    assert not _told(tmp_path, made.format("vit_b_16") + run)


@pytest.mark.parametrize(
    "text",
    [
        f"{_NET}def train(net):\n    for _ in range(100):\n        net(torch.ones(2, 3, 32, 32)).sum().backward()\n",
        f"{_NET}net = Net()\nnet(torch.ones(2, 3, 32, 32))\n",
        f"{_NET}net = Net()\nnet.compile()\n{_LOOP}",
        f"{_NET}import os\nos.environ['MALLOC_TRIM_THRESHOLD_'] = '0'\nnet = Net()\n{_LOOP}",
        f"net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))\n{_LOOP}",
        f"{_NET}net = Net().eval()\nfor _ in range(100):\n    net(torch.ones(2, 3, 32, 32))\n",
    ],
    ids=["a library", "one call", "compiled", "knows of it", "no convolutions", "inference"],
)
def test_nothing_is_said(tmp_path: Path, text: str) -> None:
    assert _told(tmp_path, text) == []


def test_nothing_is_said_for_gpus(tmp_path: Path) -> None:
    assert _told(tmp_path, f"{_NET}net = Net()\n{_LOOP}", target="cuda") == []


def test_a_stored_scan_keeps_the_variables(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import torch\nfrom torch import nn\n{_NET}net = Net()\n{_LOOP}")
    cache = Cache(tmp_path / "cache")
    asked = Settings(select=("STR181",))
    cold, warm = (scan_project([str(tmp_path / "train.py")], asked, cache=cache) for _ in range(2))
    assert cold.findings == warm.findings
    assert any(finding.environment for finding in warm.findings)
