"""`strop scan` and `strop fix` from end to end: parsing, printing, files, exit codes."""

import json
import subprocess
import sys

import pytest
from golden import golden

TRAIN = '''"""Trains."""

import tensorflow as tf


def square(x):
    return tf.sqrt(tf.square(x) * 2.0 + tf.exp(x)) + 1.0


def noisy(x):
    print("tracing")
    return tf.square(x)


for _ in range(9):
    square(tf.ones([2]))
    noisy(tf.ones([2]))
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / ".cache"))
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def test_scan_prints_findings_and_exits_with_1(project, run):
    done = run("scan", "train.py", "--jobs", "1")
    assert done.code == 1 and done.err == ""
    golden("source/scan_command", done.out)


def test_json_has_the_documented_fields(project, run):
    done = run("scan", ".", "--json")
    answer = json.loads(done.out)
    assert done.code == 1
    assert set(answer["functions"][0]) == {
        "file", "function", "line", "framework", "graph", "tensor_parameter", "primitive_parameter", "side_effects",
        "recursive", "tensor_computation", "verdict", "safety", "reasons", "assumptions", "signature",
    }  # fmt: skip
    assert set(answer["findings"][0]) == {
        "code", "rule", "file", "line", "end_line", "function", "message", "safety", "fixable", "estimated_gain",
        "gain_reason", "assumptions", "worth", "environment",
    }  # fmt: skip
    assert {f["function"]: f["verdict"] for f in answer["functions"]}["square"] == "to_graph"


def test_nothing_found_is_0_and_exit_zero_is_0(project, run):
    assert run("scan", ".", "--exit-zero").code == 0
    (project / "train.py").write_text("x = 1\n")
    done = run("scan", ".")
    assert done.code == 0 and "nothing found" in done.out
    assert run("scan", ".", "--quiet").out == ""


@pytest.mark.parametrize(
    "arguments",
    [("scan",), ("scan", "nowhere"), ("scan", ".", "--select", "STR999"), ("scan", ".", "--baseline", "none.json"),
     ("scan", ".", "--config", "none.toml"), ("scan", ".", "--format", "pdf"), ("scan", ".", "--changed-since", "x y"),
     ("fix", ".", "--diff", "--write"), ("scan", ".", "-o", "no/such/folder/x"), ("verify", "nowhere.py:main")],
)  # fmt: skip
def test_a_wrong_call_is_2(project, run, arguments):
    assert run(*arguments).code == 2


def test_input_that_cannot_be_read_is_2_only_when_nothing_is_left(project, run):
    (project / "bad").mkdir()
    (project / "bad" / "bad.py").write_text("def :\n")
    done = run("scan", "bad")
    assert done.code == 2 and "STR190" in done.out
    assert run("scan", ".").code == 1


@pytest.mark.parametrize(
    ("form", "has"), [("sarif", '"2.1.0"'), ("github", "::warning file=train.py"), ("html", "<!doctype html>")]
)
def test_other_formats_and_files(project, run, form, has):
    done = run("scan", ".", "--format", form, "-o", f"report.{form}")
    assert done.code == 1 and done.out == "" and f"see report.{form}" in done.err
    assert has in (project / f"report.{form}").read_text(encoding="utf-8")


def test_statistics_and_verdicts(project, run):
    assert "to_graph" in run("scan", ".", "--statistics").out
    assert "train.py:6 square: to graph" in run("scan", ".", "--verdicts").out.replace("./", "")


def test_a_baseline_lets_only_new_findings_through(project, run):
    assert run("scan", ".", "--write-baseline", "base.json").code == 0
    assert run("scan", ".", "--baseline", "base.json").code == 0
    (project / "train.py").write_text(
        "\n\n" + TRAIN + "\n\ndef cube(x):\n    return x * x * x * tf.exp(x) + x\n\n\n"
        "while True:\n    cube(tf.ones([2]))\n"
    )
    done = run("scan", ".", "--baseline", "base.json", "--json")
    assert done.code == 1 and [f["function"] for f in json.loads(done.out)["findings"]] == ["cube"]


def test_settings_come_from_pyproject(project, run):
    (project / "pyproject.toml").write_text('[tool.strop]\nexclude = ["train.py"]\n')
    assert run("scan", ".").code == 0


def test_fix_shows_a_diff_and_changes_nothing(project, run):
    done = run("fix", ".")
    assert done.code == 1 and "+@tf.function" in done.out and (project / "train.py").read_text() == TRAIN
    assert run("fix", ".", "--diff").out == done.out


def test_fix_writes_what_it_showed_and_a_second_time_changes_nothing(project, run):
    shown = json.loads(run("fix", ".", "--json").out)
    done = json.loads(run("fix", ".", "--write", "--json").out)
    assert shown["diff"] == done["diff"] and not shown["written"]
    written = (project / "train.py").read_text()
    assert written.count("@tf.function") == 1 and "\n\ndef noisy" in written
    assert run("fix", ".", "--write").code == 0 and (project / "train.py").read_text() == written
    again = run("fix", ".")
    assert again.code == 0 and again.out == "" and "nothing to change" in again.err


def test_fix_tells_machines_what_it_did(project, run):
    answer = json.loads(run("fix", ".", "--write", "--json").out)
    assert answer["written"] and {a["function"] for a in answer["applied"]} == {"square"} and answer["files"]


def test_an_ignored_finding_is_not_fixed(project, run):
    (project / "train.py").write_text(TRAIN.replace("def square(x):", "def square(x):  # strop: ignore"))
    assert "@tf.function" not in run("fix", ".").out


def test_explain_knows_rules_by_code_and_name(run):
    by_code, by_name = run("explain", "STR190"), run("explain", "syntax-error")
    assert by_code.code == 0 and by_code.out == by_name.out and "Python 2" in by_code.out
    everything = run("explain").out
    assert "STR101" in everything and "STR196" in everything


def test_scanning_imports_no_framework(project):
    code = "import sys; sys.argv = ['strop', 'scan', '.', '--jobs', '1', '--exit-zero', '--quiet']\nfrom strop.cli import main\n"
    code += "try: main()\nexcept SystemExit as left: assert not left.code\n"
    code += "heavy = {'torch', 'tensorflow', 'numpy', 'llvmlite'} & set(sys.modules); assert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_library_scans_too(project):
    import strop

    found = strop.scan("train.py", speculate=False)
    assert [f.function for f in found.functions] == ["square", "noisy"]
    with pytest.raises(TypeError):
        strop.scan("train.py", speculation=False)


@pytest.mark.parametrize("option", [("--unproven",), ("--entry", "make"), ("--timeout", "9")])
def test_what_only_matters_for_writing_is_refused_without_it(project, run, option):
    done = run("fix", ".", *option)
    assert done.code == 2 and f"{option[0]} has no effect without --write" in done.err
