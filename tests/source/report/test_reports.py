"""Every way to print a scan, on one scan that has everything."""

import json
import re

import pytest
from golden import golden

from source.findings import finding, insertion, span
from strop.source import report
from strop.source.facts import Edit, Function, Place, Reason, Scan, Skipped

TEXT = """import torch

def step(x, λ):
\ty = "日本", x.item()  # <b>&amp;</b>
    if x.sum() > 0:
        return (
            x
        )
    return y
"""


@pytest.fixture
def scan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(TEXT, encoding="utf-8")
    item = span("net.py", TEXT, "x.item()")
    branch = span("net.py", TEXT, "if x.sum() > 0:\n        return (\n            x\n        )")
    fix = finding(Edit(insertion("net.py", 3), "@torch.compile\n"), imports=("import torch",), place=Place("net.py", 3))
    return Scan(
        functions=[
            Function(
                "net.py", "step", 3, "torch", tensor_parameter=True, verdict="to_graph", safety="safe-if",
                reasons=[Reason("STR196", "takes a number out", item, (Place("main.py", 7), Place("net.py", 3)))],
                assumptions=["`x` is a tensor"], signature="[f32]",
            )
        ],
        findings=[
            fix,
            finding(code="STR196", place=item, message="100% of `.item()`\nends <graphs>: a, b", safety="unsafe"),
            finding(code="STR999", place=branch, message="a branch on data", safety="safe-if", function=""),
        ],
        skipped=[Skipped("old.py", "STR190", "Missing parentheses \x1b[31m", 3), Skipped("gone.py", "STR192", "gone")],
        lines=9,
        files=1,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["text", "json", "github"])
def test_golden(scan, name):
    golden(f"source/{name}", report.FORMATS[name](scan))


def test_golden_verdicts_and_statistics(scan):
    golden("source/verdicts", report.text(scan, verdicts=True).partition("net.py:3:1")[0])
    golden("source/statistics", report.statistics(scan))


def test_carets_stand_below_what_they_mean(scan):
    lines = report.text(scan).split("\n")
    row = next(n for n, line in enumerate(lines) if "x.item()" in line and "^" in lines[n + 1])
    before = lines[row][: lines[row].index("x.item()")]
    wide = len(before) + 2  # two characters of double width
    assert lines[row + 1].index("^") == wide and lines[row + 1].count("^") == len("x.item()")


def test_a_file_cannot_steer_the_terminal(scan):
    assert "\x1b" not in report.text(scan) and "\x1b[31;1m" in report.text(scan, colour=True)


def test_sarif_has_the_required_parts(scan):
    log = json.loads(report.sarif(scan))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    run = log["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"] and result["message"]["text"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
        assert region["startColumn"] >= 1
    first, item, branch = run["results"]
    assert first["fixes"][0]["artifactChanges"][0]["replacements"][0] == {
        "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 1},
        "insertedContent": {"text": "@torch.compile\n"},
    }
    assert "fixes" not in item and item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "net.py"
    region = item["locations"][0]["physicalLocation"]["region"]
    assert (region["startColumn"], region["endColumn"]) == (12, 20)  # characters, not bytes
    assert branch["locations"][0]["physicalLocation"]["region"]["endLine"] == 8
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["descriptor"]["id"] for note in notes] == ["STR190", "STR192"]


def test_github_escapes(scan):
    line = next(line for line in report.github(scan).split("\n") if "STR196" in line)
    assert "100%25 of `.item()`%0Aends <graphs>: a, b" in line and line.startswith("::warning file=net.py,line=4,")


def test_html_stands_alone(scan):
    page = report.html(scan)
    assert "<b>&amp;" not in page and "&lt;b&gt;&amp;amp;" in page and "<graphs>" not in page and "\x1b" not in page
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", page)
    assert "default-src 'none'" in page
    import base64
    import hashlib

    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        assert f"sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}" in page


@pytest.mark.parametrize("name", report.FORMATS)
def test_an_empty_scan_prints(name):
    assert "nothing found" in report.text(Scan())
    report.FORMATS[name](Scan())


def test_files_that_are_gone_print_without_lines(scan, tmp_path):
    (tmp_path / "net.py").unlink()
    for write in report.FORMATS.values():
        assert "STR196" in write(scan)


def test_of_findings_that_say_the_same_a_few_are_shown():
    same = [finding(place=Place("net.py", line), message="the same") for line in range(1, 30)]
    other = finding(place=Place("net.py", 40), message="something else")
    assert [one.place.line for one in report.best_of([*same, other], 10)] == [1, 2, 3, 40]
    shown = report.text(Scan(findings=[*same, other]), limit=10)
    assert "26 more" in shown and "something else" in shown
