"""Around the interpreter: units, the cache, processes, failures, filters."""

import os

import pytest

from strop.core.cache import Cache
from strop.source import scan_project as module
from strop.source.facts import Edit, Finding, Function, Place, Reason, Scan, Skipped
from strop.source.project.settings import Settings
from strop.source.project.store import Store, key_of
from strop.source.project.units import groups, units
from strop.source.scan_project import scan_project


@pytest.fixture
def project(tmp_path):
    def make(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/").replace("/init/", "__init__") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(tmp_path)

    return make


@pytest.fixture
def interpreted(monkeypatch):
    """A stand-in for the interpreter that finds one thing per file, and keeps count."""
    calls = []

    def interpret(unit):
        calls.append([os.path.basename(file) for file in unit.files])
        scan = Scan(files=len(unit.files), lines=unit.lines)
        for file in unit.files:
            with open(file) as text:
                if "crash" in text.read():
                    raise RecursionError("too deep")
            place = Place(file, 1)
            scan.findings.append(Finding("STR196", "unused-ignore", place, "f", "found", "safe"))
            scan.functions.append(Function(file, "f", 1, reasons=[Reason("STR196", "why", place, (place,))]))
        return scan

    monkeypatch.setattr(module, "_interpret", interpret)
    return calls


def grouped(folder):
    contents = {}
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), "rb") as file:
                contents[os.path.join(where, name)] = file.read()
    return [[os.path.relpath(file, folder) for file in group] for group in groups(contents, [folder])]


@pytest.mark.parametrize(
    "text",
    [
        "import b", "import os, b as c", "from b import f", "from . import b", "from .b import f", "if x:\n    import b",
        "from b import (\n    f,\n    g,\n)", "from . import (  # all\n    x, b)", "import sys; import b", "from b import *",
        "from . import \\\n    b",
    ],
)  # fmt: skip
def test_imports_connect_files(project, text):
    assert grouped(project(a=text, b="f = 1", c="import os")) == [["a.py", "b.py"], ["c.py"]]


def test_packages_connect_through_their_init(project):
    folder = project(pkg____init__="from .a import f", pkg__a="f = 1", pkg__b="import numpy", main="import pkg.b")
    assert grouped(folder) == [["main.py", "pkg/__init__.py", "pkg/a.py", "pkg/b.py"]]


def test_relative_imports_climb(project):
    folder = project(p__q__a="from ...shared import x", shared="x = 1", p__b="from .q.a import y")
    assert grouped(folder) == [["p/b.py", "p/q/a.py", "shared.py"]]


def test_names_elsewhere_do_not_connect(project):
    assert grouped(project(x__math="a = 1", y__main="import math")) == [["x/math.py"], ["y/main.py"]]


def test_small_groups_share_a_unit_and_large_ones_do_not(monkeypatch):
    monkeypatch.setattr("strop.source.project.units.UNIT_LINES", 10)
    contents = {f"{name}.py": b"x = 1\n" * 4 for name in "abcde"}
    assert units(contents, ["."]) == [["a.py", "b.py"], ["c.py", "d.py"], ["e.py"]]


def test_a_second_survey_interprets_nothing(project, interpreted, tmp_path):
    folder, cache = project(a="x = 1\n", b="y = 2\n"), Cache(tmp_path / "cache")
    first = scan_project([folder], Settings(), cache=cache)
    assert len(interpreted) == 1
    second = scan_project([folder], Settings(), cache=cache)
    assert len(interpreted) == 1 and first == second


def test_a_change_is_noticed(project, interpreted, tmp_path):
    folder, cache = project(a="x = 1\n"), Cache(tmp_path / "cache")
    scan_project([folder], Settings(), cache=cache)
    project(a="x = 2\n")
    scan_project([folder], Settings(), cache=cache)
    scan_project([folder], Settings(speculate=False), cache=cache)
    assert len(interpreted) == 3
    scan_project(
        [folder], Settings(select=("STR19",)), cache=cache
    )  # a selection changes what is shown, not what is true
    assert len(interpreted) == 3


def test_a_followed_file_that_changed_is_noticed(tmp_path):
    store = Store(Cache(tmp_path / "cache"))
    other = tmp_path / "other.py"
    other.write_text("x = 1\n")
    store.put(key_of([], ""), Scan(followed=[str(other)], lines=3))
    assert store.get(key_of([], "")).lines == 3
    other.write_text("x = 2\n")
    assert store.get(key_of([], "")) is None
    other.unlink()
    assert store.get(key_of([], "")) is None


def test_results_come_back_as_they_went(tmp_path):
    place = Place("é.py", 1, 2, 3, 4)
    scan = Scan(
        [Function("é.py", "A.f", 1, "torch", True, None, False, True, None, True, "to_graph", "safe-if",
                  [Reason("STR150", "why", place, (place, place))], ["x is a tensor"], "[tf.float32]")],
        [Finding("STR150", "r", place, "A.f", "m", "safe", (Edit(place, "x\n"),), ("import torch",), 2.5)],
        [Skipped("b.py", "STR190", "bad", 3)], 10, 2, ["/x.py"],
    )  # fmt: skip
    store = Store(Cache(tmp_path))
    store.put("0" * 64, scan)
    assert store.get("0" * 64) == scan


@pytest.mark.parametrize(
    "content", [b"", b"rubbish", b"x\x9c+\xce\xccKW\x00\x00\t\x0e\x02\x8f", b"x\x9c\xab\xae\x05\x00\x01u\x00\xf9"]
)
def test_a_damaged_entry_is_a_miss(project, interpreted, tmp_path, content):
    folder, cache = project(a="x = 1\n"), Cache(tmp_path / "cache")
    scan_project([folder], Settings(), cache=cache)
    for entry in cache.entries():
        cache.put(entry.key, content)
    with pytest.warns(match="deleted"):
        assert scan_project([folder], Settings(), cache=cache).files == 1
    assert len(interpreted) == 2


def test_a_file_that_cannot_be_analysed_does_not_end_the_scan(project, interpreted):
    folder = project(a="x = 1\n", b="crash\n", c="z = 1\n")
    found = scan_project([folder], Settings())
    assert [(os.path.basename(s.file), s.code) for s in found.skipped] == [("b.py", "STR195")]
    assert [os.path.basename(f.file) for f in found.functions] == ["a.py", "c.py"]


def test_a_file_that_cannot_be_analysed_does_not_take_those_with_it_that_imports_connect(project, interpreted):
    folder = project(a="import b, c, d\n", b="crash\n", c="z = 1\n", d="import c\n")
    found = scan_project([folder], Settings())
    assert [(os.path.basename(s.file), s.code) for s in found.skipped] == [("b.py", "STR195")]
    assert [os.path.basename(f.file) for f in found.functions] == ["a.py", "c.py", "d.py"]


def test_what_was_given_up_on_is_not_stored(project, interpreted, tmp_path):
    folder, cache = project(a="crash\n"), Cache(tmp_path / "cache")
    scan_project([folder], Settings(), cache=cache)
    count = len(interpreted)
    scan_project([folder], Settings(), cache=cache)
    assert len(interpreted) == 2 * count


def test_progress_reaches_the_end(project, interpreted):
    told = []
    scan_project([project(a="x = 1\n" * 7, b="y = 1\n" * 3)], Settings(), progress=lambda *at: told.append(at))
    assert told[0] == (0, 10) and told[-1] == (10, 10)


def test_several_processes_say_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr("strop.source.project.units.UNIT_LINES", 1)
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(f"import torch\ndef {name}(x):\n    return torch.relu(x)\n")
    (tmp_path / "bad.py").write_text("def :\n")
    one, two = scan_project([str(tmp_path)], Settings(), jobs=1), scan_project([str(tmp_path)], Settings(), jobs=2)
    assert one == two and len(one.functions) == 3 and [s.code for s in one.skipped] == ["STR190"]


def test_ignores_and_selections_apply_after_the_cache(project, interpreted):
    folder = project(a="x = 1  # strop: ignore[STR196]\n", b="x = 1\n")
    assert [os.path.basename(f.place.file) for f in scan_project([folder], Settings()).findings] == ["b.py"]
    assert scan_project([folder], Settings(ignore=("STR196",))).findings == []


def test_an_unused_ignore_comment_is_a_finding(project):
    (finding,) = scan_project([project(a="x = 1  # strop: ignore[STR161]\n")], Settings()).findings
    assert finding.code == "STR196"


WAITING = """import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
total = 0.0
for _ in range(100):
    loss = net(torch.ones(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    total += loss.item()
"""


def test_a_wait_that_only_a_gpu_feels_is_told_where_one_is_mentioned_or_asked_for(tmp_path):
    def codes(text, settings=None):
        (tmp_path / "train.py").write_text(text, encoding="utf-8")
        return [f.code for f in scan_project([str(tmp_path)], settings).findings if f.code == "STR179"]

    assert not codes(WAITING)
    assert codes(WAITING, Settings(select=("STR179",))) and codes(WAITING.replace("(4, 1)", "(4, 1).cuda()"))
