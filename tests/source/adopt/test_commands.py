"""`strop show-architecture`, and the options of `strop scan` that concern kernels."""

import json

import pytest

from source.adopt.programs import HEADER, function
from strop import cli


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command line in a folder with one file; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    body = "y = x * torch.sigmoid(x)\nwith torch.no_grad():\n    return torch.softmax(y @ y.transpose(-2, -1), -1) @ y"
    (tmp_path / "model.py").write_text(HEADER + function(body))

    def call(*words):
        monkeypatch.setattr("sys.argv", ["strop", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return call


def found(output):
    return [row["code"] for row in json.loads(output)["findings"]]


def test_show_architecture(run):
    code, out, _ = run("show-architecture", "model.py:f")
    assert code == 0 and out.startswith("f(x):\n") and "sigmoid(x)" in out


@pytest.mark.parametrize(
    ("what", "message"), [("nothing.py", "no file `nothing.py`"), ("model.py:g", "no class or function `g`")]
)
def test_show_architecture_of_nothing(run, what, message):
    code, _, err = run("show-architecture", what)
    assert code == 2 and message in err


def test_scan_reports_kernels_with_the_rest(run):
    code, out, _ = run("scan", "model.py", "--json", "--no-cache")
    assert code == 1 and {"STR701", "STR724"} <= set(found(out))


def test_a_rule_that_is_off_runs_when_asked_for(run):
    assert "STR778" not in found(run("scan", "model.py", "--json", "--no-cache", "--select", "STR7")[1])
    assert found(run("scan", "model.py", "--json", "--no-cache", "--select", "STR778")[1]) == ["STR778"]


def test_another_target_has_other_kernels(run):
    code, out, _ = run("scan", "model.py", "--json", "--no-cache", "--select", "STR70", "--target", "cuda")
    assert code == 1 and found(out) == ["STR703"]


def test_an_unknown_target(run):
    code, _, err = run("scan", "model.py", "--target", "tpu")
    assert code == 2 and "no target `tpu`" in err


def test_rules_of_a_folder(run, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.rule").write_text("rule own STR790\nfamily own\ntitle own\n\npattern:\n    sigmoid(x)\n")
    code, out, _ = run("scan", "model.py", "--json", "--no-cache", "--rules", "rules", "--select", "STR790")
    assert code == 1 and found(out) == ["STR790"]


def test_a_mistake_in_a_rule_is_an_error_of_the_call(run, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.rule").write_text("rule own STR790\nfamily own\ntitle own\n\npattern:\n    sigmiod(x)\n")
    code, _, err = run("scan", "model.py", "--no-cache", "--rules", "rules")
    assert code == 2 and "there is no operation `sigmiod`" in err and "did you mean `sigmoid`?" in err


def test_explain(run):
    code, out, _ = run("explain", "STR701")
    assert code == 0 and "scaled_dot_product_attention" in out


def test_strop_is_imported_only_with_consent(run, tmp_path):
    (tmp_path / "model.py").write_text(HEADER + function("return x * torch.sigmoid(1.702 * x)"))
    words = ("--json", "--no-cache", "--select", "STR7")
    assert found(run("scan", "model.py", *words)[1]) == []
    assert found(run("scan", "model.py", *words, "--with-strop")[1]) == ["STR723"]
    (tmp_path / "pyproject.toml").write_text("[tool.strop]\nwith-strop = true\n")
    assert found(run("scan", "model.py", *words)[1]) == ["STR723"]
    assert found(run("scan", "model.py", *words, "--without-strop")[1]) == []


def test_pytorch_s_own_kernel_is_preferred_without_consent(run, tmp_path):
    body = "return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))"
    (tmp_path / "model.py").write_text(HEADER + function(body))
    own, strops = (run("fix", "model.py", "--no-cache", *words)[1] for words in ((), ("--with-strop",)))
    assert 'torch.nn.functional.gelu(x, approximate="tanh")' in own and "strop" not in own
    assert 'strop.kernels.gelu(x, approximate="tanh")' in strops


def test_a_project_s_rule_that_imports_strop_needs_consent(run, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.rule").write_text(
        "rule own STR790\nfamily own\ntitle own\n\npattern:\n    sigmoid(x)\n\n"
        "use:\n    => strop.kernels.quick_gelu($x)\n\nimport:\n    import strop.kernels\n"
    )
    words = ("scan", "model.py", "--json", "--no-cache", "--rules", "rules", "--select", "STR790")
    assert found(run(*words)[1]) == [] and found(run(*words, "--with-strop")[1]) == ["STR790"]
