"""Edits touch their spans and nothing else."""

import os
import stat

import pytest

from source.findings import decorate, finding, insertion, span
from strop.core.problem import Problem
from strop.source.facts import Edit
from strop.source.fix.edit import plan


@pytest.fixture
def file(tmp_path):
    def make(content, name="train.py"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


def after(path, *findings):
    made = plan(findings)
    assert not made.refused, made.refused[0].why
    made.write()
    with open(path, "rb") as written:
        return written.read()


def test_comments_and_formatting_stay(file):
    text = "import torch\n\n\n# why\ndef  step( x ):   # odd\n    return x*2  ;\n"
    assert after(file(text), decorate(file(text), 5)) == text.replace("def  step", "@torch.compile\ndef  step").encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_stay(file, newline):
    text = newline.join(["import torch", "", "def step(x):", "    return x", ""])
    expected = newline.join(["import torch", "", "@torch.compile", "def step(x):", "    return x", ""])
    path = file(text)
    assert after(path, decorate(path, 3)) == expected.encode()


def test_a_byte_order_mark_stays(file):
    path = file(b"\xef\xbb\xbfimport torch\ndef step(x): return x\n")
    assert after(path, decorate(path, 2)) == b"\xef\xbb\xbfimport torch\n@torch.compile\ndef step(x): return x\n"


def test_the_encoding_stays(file):
    text = "# -*- coding: latin-1 -*-\nimport torch\nname = 'é'\ndef step(x): return x\n"
    path = file(text.encode("latin-1"))
    assert after(path, decorate(path, 4)) == text.replace("def", "@torch.compile\ndef").encode("latin-1")


def test_text_that_the_encoding_lacks_is_refused(file):
    path = file("# coding: latin-1\nx = 1\n")
    made = plan([finding(Edit(span(path, "# coding: latin-1\nx = 1\n", "1\n"), "'→'\n"))])
    assert made.refused and not made.files


def test_columns_are_bytes_as_in_ast(file):
    text = "s = 'äö𝄞'; y = x.item()\n"
    path = file(text)
    assert after(path, finding(Edit(span(path, text, "x.item()"), "x"))) == "s = 'äö𝄞'; y = x\n".encode()


def test_form_feeds_and_odd_separators_are_not_line_ends(file):
    text = "a = '\x0c\x0b\u2028\x85'\nimport torch\ndef step(x): return x\n"
    path = file(text)
    assert after(path, decorate(path, 3)).decode().split("\n")[2] == "@torch.compile"


def test_a_file_without_a_final_line_end(file):
    path = file("def step(x): return x")
    assert after(path, decorate(path, 1)) == b"import torch\n\n@torch.compile\ndef step(x): return x"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("def f(): pass\n", "import torch\n\ndef f(): pass\n"),
        ("#!/usr/bin/python\n# licence\n\ndef f(): pass\n", "#!/usr/bin/python\n# licence\nimport torch\n\ndef f(): pass\n"),
        ('"""Doc."""\n\ndef f(): pass\n', '"""Doc."""\n\nimport torch\n\ndef f(): pass\n'),
        ('"""Doc\nlong."""\ndef f(): pass\n', '"""Doc\nlong."""\n\nimport torch\n\ndef f(): pass\n'),
        ("from __future__ import annotations\nimport os\n\ndef f(): pass\n",
         "from __future__ import annotations\nimport os\nimport torch\n\ndef f(): pass\n"),
        ("from __future__ import annotations\ndef f(): pass\n",
         "from __future__ import annotations\n\nimport torch\n\ndef f(): pass\n"),
        ("import os\nfrom . import data\n\ndef f(): pass\n", "import os\nimport torch\nfrom . import data\n\ndef f(): pass\n"),
        ("from numpy import (\n    array,\n)\n\ndef f(): pass\n",
         "from numpy import (\n    array,\n)\nimport torch\n\ndef f(): pass\n"),
        ("import os; x = '''a\nb'''\ndef f(): pass\n", "import os; x = '''a\nb'''\nimport torch\ndef f(): pass\n"),
        ("import torch.nn\ndef f(): pass\n", "import torch.nn\ndef f(): pass\n"),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\ndef f(): pass\n",
         "try:\n    import torch\nexcept ImportError:\n    torch = None\ndef f(): pass\n"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f(): pass\n",
         "from typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    import torch\ndef f(): pass\n"),
        ("def g():\n    import torch\n\ndef f(): pass\n", "import torch\n\ndef g():\n    import torch\n\ndef f(): pass\n"),
    ],
)  # fmt: skip
def test_imports_go_where_they_belong(file, before, expected):
    path = file(before)
    edit = Edit(span(path, before, "def f(): pass"), "def f(): pass")
    renamed = Edit(edit.place, "def f(): pass")
    assert after(path, finding(renamed, imports=("import torch",))).decode() == expected


@pytest.mark.parametrize(
    ("imported", "wanted", "written", "expected"),
    [
        ("import torch as th", "import torch", "@torch.compile(dynamic=torch)", "@th.compile(dynamic=th)"),
        ("from torch import compile as c", "from torch import compile", "@compile", "@c"),
        (
            "from torch.nn import functional as FF",
            "import torch.nn.functional as F",
            "@F.f(x.F, 'F')",
            "@FF.f(x.F, 'F')",
        ),
        ("import tensorflow", "import tensorflow as tf", "@tf.function", "@tensorflow.function"),
        ("import tensorflow.compat.v2 as tf", "import tensorflow.compat.v2 as tf", "@tf.function", "@tf.function"),
    ],
)
def test_the_names_of_the_file_are_used(file, imported, wanted, written, expected):
    text = f"{imported}\n\ndef step(x): return x\n"
    path = file(text)
    made = after(path, decorate(path, 3, f"{written}\n", imports=(wanted,))).decode()
    assert made == f"{imported}\n\n{expected}\ndef step(x): return x\n"


@pytest.mark.parametrize("text", ["torch = 3\ndef f(): pass\n", "def torch(): pass\ndef f(): pass\n",
                                  "from fake import torch\ndef f(): pass\n", "from . import torch\ndef f(): pass\n",
                                  "def g(torch): pass\ndef f(): pass\n"])  # fmt: skip
def test_a_name_that_means_something_else_is_refused(file, text):
    path = file(text)
    made = plan([decorate(path, 2)])
    assert "torch" in made.refused[0].why and not made.files


def test_overlapping_edits_are_resolved_in_the_order_of_places(file):
    text = "y = f(g(x))\n"
    path = file(text)
    outer = finding(Edit(span(path, text, "f(g(x))"), "h(x)"), code="STR160")
    inner = finding(Edit(span(path, text, "g(x)"), "x"), code="STR151")
    for order in ([outer, inner], [inner, outer]):
        made = plan(order)
        assert made.after[path] == "y = h(x)\n"
        assert [r.finding for r in made.refused] == [inner] and "overlaps" in made.refused[0].why


def test_equal_edits_are_one(file):
    path = file("import torch\ndef step(x): return x\n")
    made = plan([decorate(path, 2, code="STR150"), decorate(path, 2, code="STR151")])
    assert made.after[path].count("@torch.compile") == 1 and len(made.applied) == 2


def test_neighbouring_edits_both_apply(file):
    text = "a = b + c\n"
    path = file(text)
    made = plan([finding(Edit(span(path, text, "b "), "x ")), finding(Edit(span(path, text, "+ c"), "- c"))])
    assert made.after[path] == "a = x - c\n" and not made.refused


def test_a_finding_is_applied_in_all_of_its_files_or_none(file):
    one, two = file("a = 1\n", "one.py"), file("b = (\n", "two.py")
    made = plan([finding(Edit(span(one, "a = 1\n", "1"), "2"), Edit(insertion(two, 1), "c = 3\n"))])
    assert not made.files and "not valid Python" in made.refused[0].why


def test_what_would_not_parse_is_refused_and_the_rest_applied(file):
    text = "a = 1\nb = 2\n"
    path = file(text)
    good, bad = finding(Edit(span(path, text, "1"), "10")), finding(Edit(span(path, text, "2"), "((("))
    made = plan([good, bad])
    assert made.after[path] == "a = 10\nb = 2\n" and [r.finding for r in made.refused] == [bad]


def test_what_parses_but_does_not_compile_is_refused(file):
    text = "def f():\n    return 1\n"
    path = file(text)
    made = plan([finding(Edit(span(path, text, "    return 1"), "    break"))])
    assert not made.files and made.refused


def test_places_outside_the_file_are_refused(file):
    path = file("a = 1\n")
    for place in (insertion(path, 9), insertion(path, 1, 99)):
        made = plan([finding(Edit(place, "x"))])
        assert "outside" in made.refused[0].why


def test_an_insertion_at_the_end_of_the_file(file):
    path = file("a = 1\n")
    assert after(path, finding(Edit(insertion(path, 2), "b = 2\n"))) == b"a = 1\nb = 2\n"


def test_a_missing_file_is_refused(tmp_path):
    made = plan([decorate(tmp_path / "gone.py", 1)])
    assert "cannot be read" in made.refused[0].why


def test_a_second_round_changes_nothing(file):
    path = file("import torch\ndef step(x): return x\n")
    once = after(path, decorate(path, 2))
    text = once.decode()
    assert (
        plan([finding(Edit(span(path, text, "@torch.compile"), "@torch.compile"), imports=("import torch",))]).files
        == []
    )


def test_a_file_that_changed_meanwhile_is_left_alone(file):
    path = file("import torch\ndef step(x): return x\n")
    made = plan([decorate(path, 2)])
    file("import torch\ndef other(x): return x\n")
    with pytest.raises(Problem, match="changed while"):
        made.write()


def test_permissions_and_links_stay(file, tmp_path):
    path = file("import torch\ndef step(x): return x\n")
    os.chmod(path, 0o750)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    after(path, decorate(str(link), 2))
    assert link.is_symlink() and stat.S_IMODE(os.stat(path).st_mode) == 0o750
    assert "@torch.compile" in open(path).read()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "train.py"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file, tmp_path, monkeypatch):
    path = file("import torch\ndef step(x): return x\n")
    made = plan([decorate(path, 2)])
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError):
        made.write()
    assert open(path).read() == "import torch\ndef step(x): return x\n"
    assert [p.name for p in tmp_path.iterdir()] == ["train.py"]


def test_the_diff_is_one_that_patch_reads(file, tmp_path, monkeypatch):
    import shutil
    import subprocess

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.chdir(tmp_path)
    file("import torch\ndef step(x): return x")
    made = plan([decorate("train.py", 2)])
    (tmp_path / "p.diff").write_text(made.diff())
    subprocess.run(["git", "init", "-q"], check=True, cwd=tmp_path)
    subprocess.run(["git", "apply", "p.diff"], check=True, cwd=tmp_path)
    assert (tmp_path / "train.py").read_text() == made.after["train.py"]
