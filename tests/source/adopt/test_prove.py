"""Edits that are run: equal, different, not reached, and what `strop verify --adopt` and `strop fix --verified` say."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Finding, Place, Scan
from strop.source.fixing import fix
from strop.source.prove import prove

BEFORE = """import math

import torch
from torch import nn


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def unreachable(x, wanted):
    return wanted.missing * x * torch.sigmoid(x)


class Layer(nn.Module):
    def __init__(self, hidden_size, dropout):
        super().__init__()
        self.up = nn.Linear(hidden_size, 2 * hidden_size)
        self.down = nn.Linear(2 * hidden_size, hidden_size)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.drop(self.down(gelu(self.up(x))))
"""


def finding(file, function):
    return Finding("STR721", "gelu-written-out", Place(str(file), 1), function, "", "safe")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "model.py"
    file.write_text(BEFORE)
    return file


def test_an_equal_edit_is_verified_with_its_largest_difference(project):
    after = BEFORE.replace("0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))", "torch.nn.functional.gelu(x)")
    proof = prove(str(project), after, [finding(project, "gelu")])
    assert proof.verified == {"gelu"} and not proof.different and 0 < proof.largest_exact < 1e-12


def test_a_wrong_edit_is_found_in_values_and_gradients(project):
    after = BEFORE.replace(
        "0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))", 'torch.nn.functional.gelu(x, approximate="tanh")'
    )
    proof = prove(str(project), after, [finding(project, "gelu"), finding(project, "Layer.forward")])
    assert "gelu" in proof.different and not proof.verified & {"gelu"}
    assert any("gradient" in text for one in proof.subjects for text in one.differences)


def test_a_renamed_layer_is_a_checkpoint_that_does_not_load(project):
    after = BEFORE.replace("self.up", "self.first")
    proof = prove(str(project), after, [finding(project, "Layer.forward")])
    assert any("does not load" in text for one in proof.subjects for text in one.differences)


QKV = """import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(24, 12)
        self.k = nn.Linear(24, 12)
        self.v = nn.Linear(24, 9)

    def forward(self, x):
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
"""


def test_joined_projections_load_old_checkpoints_and_have_their_gradients(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(QKV)
    look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)])))  # noqa: E731
    done = fix(look, unsafe=True, accept=lambda f: f.rule == "separate-projections")
    after = done.plan.after[str(file)]
    assert "q, k, v = self.qkv(x).split([12, 12, 9], dim=-1)" in after and "_load_from_state_dict" in after
    proof = prove(str(file), after, done.applied)
    assert proof.verified == {"Attention.forward"}, proof.subjects


def test_what_nothing_reaches_is_not_verified_and_says_why(project):
    proof = prove(str(project), BEFORE, [finding(project, "unreachable")])
    assert proof.not_verified == ["unreachable"] and proof.why_not("unreachable")


def test_a_file_that_fails_to_import_is_not_verified(project):
    project.write_text("raise OSError('no')\n")
    proof = prove(str(project), "x = 1\n", [finding(project, "f")])
    assert proof.not_verified == ["f"] and "no" in proof.why_not("f")


def test_fix_verified_writes_only_what_was_run(project, run):
    done = run("fix", "model.py", "--write", "--verified")
    text = project.read_text()
    assert done.code == 0 and "torch.nn.functional.gelu(x)" in text
    assert "wanted.missing * x * torch.sigmoid(x)" in text
    assert "equal" in done.out


def test_verify_adopt_tells_each_function(project, run):
    done = run("verify", "model.py", "--adopt", "--json")
    (told,) = json.loads(done.out)["files"]
    assert told["verified"] == ["gelu"] and told["largest_error_float64"] < 1e-12


def test_edits_of_other_kinds_stay_beside_verified_kernels(project, monkeypatch):
    from strop.source import fixing
    from strop.source import prove as proving

    kernel, other = finding(project, "gelu"), replace(finding(project, "Layer.forward"), code="STR410")
    seen = []

    def fake(look, *, unsafe, accept):
        seen.append([one for one in (kernel, other) if accept(one)])
        return SimpleNamespace(applied=seen[-1], files=[str(project)])

    subject = proving.Subject("gelu", ("gelu",), ("run",), (), "", 0.0, 0.0)
    monkeypatch.setattr(fixing, "fix", fake)
    monkeypatch.setattr(proving, "proofs", lambda done, **_: [proving.Proof(str(project), ("gelu",), (subject,))])
    done, _ = proving.fix_verified(lambda: None, unsafe=False)
    assert seen == [[kernel], [kernel, other]] and done.applied == [kernel, other]
