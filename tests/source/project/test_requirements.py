"""Versions that a project allows, wherever it says so, and what is left unsaid because of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.project.requirements import pins, refusal
from strop.source.scan import scan

FILES = {
    "requirements.txt": "numpy\ntorch==1.7.1  # old\n",
    "requirements-dev.txt": "torch>=1.5,<2\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["torch~=1.13.0"]\n',
    "setup.py": 'from setuptools import setup\nsetup(install_requires=["torch (>=1.4,<=1.12)"])\n',
    "setup.cfg": "[options]\ninstall_requires =\n    torch<1.11\n",
    "environment.yml": "dependencies:\n  - pytorch=1.8.1\n  - pip:\n    - einops\n",
    "conda-linux.yaml": "dependencies:\n  - pytorch==1.7.1\n",
    "Pipfile": '[packages]\nnumpy = "*"\ntorch = "==1.7"\n',
}
NEW = {
    "requirements.txt": "torch>=1.7\n",
    "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "^2.1"\n',
    "setup.py": 'setup(name="torch 1.7 tools", install_requires=["torch>=1.7,!=1.9"])\n',
    "environment.yml": "dependencies:\n  - pytorch=2.4\n",
    "Pipfile": '[packages]\ntorch = "*"\n',
}
LOOP = """import torch

def step(x):
    y = x * 2 + 1
    y = torch.exp(-y * y) - torch.tanh(y) * torch.sigmoid(x)
    return y / (1 + y.abs()) + torch.sin(x) * torch.cos(y)

for _ in range(100):
    step(torch.randn(8, 8))
"""


@pytest.mark.parametrize("name", FILES)
def test_an_old_pin_refuses_what_came_later(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    pin = refusal(pins([str(tmp_path)], "torch"), "2.0")
    assert pin is not None and pin.file.endswith(name) and pin.line >= 1


@pytest.mark.parametrize("name", NEW)
def test_a_lower_bound_refuses_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(NEW[name], encoding="utf-8")
    assert refusal(pins([str(tmp_path)], "torch"), "2.0") is None


def test_a_pin_above_the_folder_counts_up_to_the_root_of_the_project(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "src" / "net"
    inner.mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("torch<1.5\n", encoding="utf-8")
    (tmp_path / "project" / "setup.py").write_text('setup(install_requires=["torch<1.9"])\n', encoding="utf-8")
    assert [pin.text for pin in pins([str(inner)], "torch")] == ["torch<1.9"]


def test_nothing_newer_than_the_pin_is_proposed_and_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(LOOP, encoding="utf-8")
    assert [f.code for f in scan([str(tmp_path)]).findings] == ["STR150"]
    (tmp_path / "requirements.txt").write_text("torch==1.7.1\n", encoding="utf-8")
    found = scan([str(tmp_path)])
    assert not found.findings
    assert len(found.notes) == 1 and "`torch==1.7.1`" in found.notes[0] and "1 finding" in found.notes[0]


def test_fused_optimizers_need_a_newer_version_than_graphs(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef make(net):\n    return torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    assert [f.code for f in scan([str(tmp_path)]).findings] == ["STR775"]
    (tmp_path / "requirements.txt").write_text("torch<2.2\n", encoding="utf-8")
    assert not scan([str(tmp_path)]).findings
