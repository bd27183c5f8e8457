"""Edits that are run: equal, different, not reached, and what `strop verify --adopt` and `strop fix --write` say."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Finding, Place, Scan
from strop.source.fix.fixing import fix
from strop.verify import prove as proving
from strop.verify.prove import prove

BEFORE = """import math

import torch
from torch import nn


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def unreachable(x, wanted):
    return x * torch.sigmoid(x) + wanted.missing


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
    look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=True))  # noqa: E731
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


def test_fix_writes_only_kernels_that_were_run_and_are_equal(project, run):
    done = run("fix", "model.py", "--write", "--select", "STR7")
    text = project.read_text()
    assert done.code == 0 and "torch.nn.functional.gelu(x)" in text
    assert "x * torch.sigmoid(x) + wanted.missing" in text
    assert "equal" in done.out and "not run    unreachable: not written" in done.out and "--entry" in done.out


def test_fix_writes_what_was_not_run_when_asked_to(project, run):
    done = run("fix", "model.py", "--write", "--unproven", "--select", "STR7")
    assert "not run    unreachable: written all the same" in done.out
    assert "torch.nn.functional.silu" in project.read_text()


def test_the_preview_names_what_has_to_be_run(project, run):
    done = run("fix", "model.py", "--select", "STR7")
    assert done.code == 1 and "+    return torch.nn.functional.gelu(x)" in done.out
    assert "kernels in 2 functions are written by --write once they were run and are equal" in done.err
    told = json.loads(run("fix", "model.py", "--json", "--select", "STR7").out)
    assert told["to_prove"] == ["model.py:gelu", "model.py:unreachable"]


def test_a_wrong_edit_is_never_written(project, run, monkeypatch):
    monkeypatch.setattr(proving, "prove", lambda file, after, findings, ways: different(file, findings))
    before = project.read_text()
    done = run("fix", "model.py", "--write", "--unproven", "--select", "STR7")
    assert project.read_text() == before and "different  gelu: not written" in done.out


def different(file, findings):
    names = tuple(finding.function for finding in findings)
    return proving.Proof(file, names, (proving.Subject("gelu", names, ("run",), ("output differs",), "", 1.0, 1.0),))


def test_nothing_is_run_where_no_kernel_is_adopted(project, run, monkeypatch):
    monkeypatch.setattr(proving, "prove", None)
    project.write_text("x = 1\n")
    assert run("fix", "model.py", "--write").code == 0


def test_without_pytorch_nothing_is_written(project, run, tmp_path):
    lonely = tmp_path / "python"
    lonely.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    lonely.chmod(0o755)
    before = project.read_text()
    done = run("fix", "model.py", "--write", "--python", str(lonely), "--select", "STR7")
    assert project.read_text() == before
    assert "PyTorch is not installed for this Python" in " ".join(done.out.split()) and "--python" in done.out


def test_an_edit_that_raises_is_different(project):
    after = BEFORE.replace("0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))", "torch.nn.functional.gelu(y)")
    proof = prove(str(project), after, [finding(project, "gelu")])
    assert proof.different == {"gelu"} and "NameError" in proof.subjects[0].differences[0]


def test_two_shapes_are_run_in_training_and_eval_mode(project):
    proof = prove(str(project), BEFORE.replace("down(gelu(", "down(  gelu("), [finding(project, "Layer.forward")])
    compared = " ".join(proof.subjects[0].compared)
    assert all(what in compared for what in ("eval,", "train,", "eval of shape 2,", "train of shape 2,", "state_dict"))


def test_a_script_is_not_imported(project):
    project.write_text("import torch\n\n\ndef main():\n    raise SystemExit\n\n\nmain()\n")
    proof = prove(str(project), "x = 1\n", [finding(project, "main")])
    assert "runs when it is imported" in proof.why_not("main")


def test_an_entry_of_another_file_gets_each_version(project, tmp_path):
    (tmp_path / "whole.py").write_text("import model\n\n\nclass Net(model.Layer):\n    pass\n")
    (tmp_path / "entry.py").write_text(
        "import torch\nimport whole\n\n\ndef make():\n    return whole.Net(8, 0.0), [torch.randn(2, 8), torch.randn(5, 8)]\n"
    )
    after = BEFORE.replace(
        "0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))", 'torch.nn.functional.gelu(x, approximate="tanh")'
    )
    proof = prove(str(project), after, [finding(project, "gelu")], proving.Ways(f"{tmp_path}/entry.py:make"))
    assert proof.different == {"gelu"} and proof.subjects[0].what.startswith("entry ")


def test_verify_adopt_tells_each_function(project, run):
    done = run("verify", "model.py", "--adopt", "--json")
    (told,) = json.loads(done.out)["files"]
    assert told["verified"] == ["gelu"] and told["largest_error_float64"] < 1e-12


def test_edits_of_other_kinds_stay_beside_proven_kernels(project, monkeypatch):
    from strop.source.fix import fixing

    kernel, other = finding(project, "gelu"), replace(finding(project, "Layer.forward"), code="STR410")
    seen = []

    def fake(look, *, unsafe, accept, first):
        seen.append([one for one in (kernel, other) if accept(one)])
        return SimpleNamespace(applied=seen[-1], files=[str(project)])

    subject = proving.Subject("gelu", ("gelu",), ("run",), (), "", 0.0, 0.0)
    monkeypatch.setattr(fixing, "fix", fake)
    monkeypatch.setattr(proving, "proofs", lambda *_: [proving.Proof(str(project), ("gelu",), (subject,))])
    done, _ = proving.fix_proven(lambda: None, unsafe=False)
    assert seen == [[kernel], [kernel, other]] and done.applied == [kernel, other]


@pytest.mark.slow
def test_an_optimizer_is_run_for_a_few_steps(project):
    text = "import torch\n\n\ndef make(model, lr):\n    return torch.optim.AdamW(model.parameters(), lr=lr{more})\n"
    project.write_text(text.format(more=""))
    proofs = [
        prove(str(project), text.format(more=more), [finding(project, "make")])
        for more in (", fused=True", ", eps=0.1")
    ]
    assert proofs[0].verified == {"make"} and proofs[1].different == {"make"}


def test_what_returns_no_tensor_is_not_proven(project):
    project.write_text("def f(x):\n    return x.shape[0]\n")
    proof = prove(str(project), "def f(x):\n    return x.shape[1]\n", [finding(project, "f")])
    assert not proof.verified and "no tensor" in proof.why_not("f")
