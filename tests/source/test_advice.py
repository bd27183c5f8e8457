"""Kernels and graphs side by side: one proposal per place, ranked by what it is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.source import report
from strop.source.facts import Finding, Place, Scan
from strop.source.project.settings import Settings
from strop.source.scan import scan
from strop.source.scan_project import scan_project

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
NORM = """class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
"""
NET = f"""{NORM}

class Net(nn.Module):
    def __init__(self, d=2048):
        super().__init__()
        self.norms = nn.ModuleList([Norm(d) for _ in range(4)])

    def forward(self, x):
        for norm in self.norms:
            x = norm(x)
            x = torch.tanh(x) * x + torch.sin(x) * 2
        return x
"""
ATTENTION = """class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        {branch}scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        return scores.softmax(dim=-1) @ v
"""
BRANCH = "if hasattr(F, 'scaled_dot_product_attention'):\n            return F.scaled_dot_product_attention(q, k, v)\n        "


def _codes(folder: Path, text: str) -> list[str]:
    (folder / "net.py").write_text(HEAD + text, encoding="utf-8")
    return sorted(f.code for f in scan([str(folder)]).findings)


def test_a_graph_that_is_worth_more_takes_the_place_of_the_kernels_inside(tmp_path: Path) -> None:
    assert _codes(tmp_path, NORM) == ["STR711"]
    assert _codes(tmp_path, f"{NET}\n\nnet = Net()\nfor _ in range(9):\n    net(torch.randn(2, 2048))\n") == ["STR150"]
    (found,) = scan([str(tmp_path)]).findings
    assert "STR711" in found.message


def test_kernels_inside_of_what_is_compiled_already_are_not_proposed(tmp_path: Path) -> None:
    assert "STR711" not in _codes(tmp_path, f"{NET}\n\nnet = torch.compile(Net())\nnet(torch.randn(2, 2048))\n")


def test_a_place_that_has_a_fused_branch_is_left_alone(tmp_path: Path) -> None:
    assert _codes(tmp_path, ATTENTION.format(branch="")) == ["STR701"]
    assert _codes(tmp_path, ATTENTION.format(branch=BRANCH)) == []


def test_tests_are_not_told_to_use_kernels(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "reference.py").write_text(HEAD + NORM, encoding="utf-8")
    assert not scan([str(tmp_path)]).findings


def test_findings_are_sorted_by_what_they_are_worth(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HEAD + NORM, encoding="utf-8")
    (tmp_path / "b.py").write_text(HEAD + ATTENTION.format(branch=""), encoding="utf-8")
    found = scan_project([str(tmp_path)], Settings(with_strop=True)).findings
    assert [f.worth for f in found] == sorted((f.worth for f in found), reverse=True)
    assert len(found) == 2 and all(f.worth and f.estimated_gain and f.gain_reason for f in found)


@pytest.mark.parametrize("count", [3, 40])
def test_the_ten_best_are_printed_and_the_rest_is_counted(count: int) -> None:
    findings = [Finding("STR150", "compile", Place("net.py", i + 1), f"f{i}", f"… {i}", "safe") for i in range(count)]
    text = report.text(Scan(findings=findings), limit=10)
    assert text.count("STR150 compile: …") == min(count, 10)
    assert ("30 more" in text and "`--all`" in text) == (count > 10)
    assert report.text(Scan(findings=findings)).count("STR150 compile: …") == count


def test_gain_and_assumptions_are_in_text_and_json() -> None:
    finding = Finding(
        "STR150", "compile", Place("net.py", 1), "f", "compile it", "safe-if", (), (), 1.5, "it fuses", ("x is a tensor",), 3.0
    )  # fmt: skip
    scan = Scan(findings=[finding], notes=["requirements.txt:1 pins `torch<2`"])
    text = report.text(scan)
    assert "about 1.50× (it fuses)" in text and "assumes x is a tensor" in text and "pins `torch<2`" in text
    (row,) = json.loads(report.as_json(scan))["findings"]
    assert (row["estimated_gain"], row["gain_reason"], row["assumptions"]) == (1.5, "it fuses", ["x is a tensor"])
    assert json.loads(report.as_json(scan))["notes"] == scan.notes


def test_attention_whose_weights_every_call_returns_is_not_worth_saying(tmp_path: Path) -> None:
    text = """import torch


def attend(q, k, v, weigh):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights @ v, weights
"""
    sometimes = text.replace("    return", "    if not weigh:\n        return weights @ v\n    return")
    assert _said(tmp_path, text) == []
    assert _said(tmp_path, sometimes) == ["STR701"]


def _said(folder: Path, text: str) -> list[str]:
    (folder / "attend.py").write_text(text, encoding="utf-8")
    return [finding.code for finding in scan_project([str(folder)], jobs=1, cache=None).findings]
